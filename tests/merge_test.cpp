// Shards of a sweep and their merging, in process and as commands.
#include "sweeps/merge.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/plan_file.hpp"
#include "experiments/sharding.hpp"
#include "tests/support/sweep.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

using std::filesystem::path;

/// 12 trials in two shards, and the same in one undisturbed store.
struct MergeTest : testing::Test {
  TemporaryFolder folder;
  path dir = folder.path / "run", one = folder.path / "one";
  SweepPlan plan =
      plan_of("base.train.epochs = 2\n[grid]\nmodel.dim = [8, 32, 16]\nseed = [1, 0]\nlr = [0.1, 0.9]\n");

  /// Shards 0 ... of-1; the last trials of each lie loose.
  void run_shards(std::int64_t of) const {
    for (std::int64_t i = 0; i < of; ++i) {
      Store store(shard_folder(dir, {i, of}));
      const SweepPlan part = narrowed(plan, {i, of}, Store(dir), store);
      for (std::size_t k = 0; k < part.trials.size(); ++k) {
        store.add(sample_record(part.trials[k]));
        if (k == 1) store.fold(part, false);
      }
      if (std::filesystem::exists(store.folder()))
        write_plan(core_only(), store.folder(), plan, "", "headlab sweep", sweep_plan_name);
    }
  }
  void run_one() const {
    Store store(one);
    for (const PlannedTrial& t : plan.trials) store.add(sample_record(t));
    store.fold(plan, false);
  }
  Ended run(const std::string& command) const { return shell("$HEADLAB " + command, folder.path); }
  static std::map<std::string, std::string> bytes_below(const path& top) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top))
      if (entry.is_regular_file() && entry.path().filename() != "claims")
        all[entry.path()] = read_bytes(entry.path());
    return all;
  }
  /// Exit code 3, each part in a line of stderr of its own, and no file touched.
  void expect_refused(const std::string& command, const std::vector<std::string>& parts) const {
    const auto before = bytes_below(dir);
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 3) << ended.err;
    for (const std::string& part : parts)
      EXPECT_NE(ended.err.find(part), ended.err.npos) << part << "\n" << ended.err;
    EXPECT_NE(ended.err.find("note: run: nothing was written"), ended.err.npos) << ended.err;
    std::ptrdiff_t errors = 0;
    std::istringstream lines(ended.err);
    for (std::string line; std::getline(lines, line);) errors += line.starts_with("error: ");
    EXPECT_EQ(errors, std::ssize(parts)) << ended.err;
    EXPECT_EQ(bytes_below(dir), before);
  }
  /// A loose file of some shard.
  path loose() const {
    for (const auto& [name, bytes] : bytes_below(dir / "shards"))
      if (name.find("/trials/") != name.npos) return name;
    throw std::logic_error("no loose file");
  }
  /// As h5py would leave it: nothing after HDF5's data.
  static void take_seal_off(const path& file) {
    constexpr std::size_t seal = 78;
    const std::string bytes = read_bytes(file);
    write_quickly(file, bytes.substr(0, bytes.size() - seal));
  }
};

TEST(Shard, IsTheRemainderOfTheId) {
  const std::string id = "f0a01c3acb76b8f6";  // 17338613571850090742
  for (const auto& [i, n] : {std::pair{0, 1}, {0, 2}, {2, 4}, {2, 10}})
    EXPECT_TRUE((Shard{i, n}.has(id))) << i << "/" << n;
  EXPECT_FALSE((Shard{1, 2}.has(id)));
  EXPECT_FALSE((Shard{3, 10}.has(id)));
  EXPECT_EQ(read_shard("3/16"), (Shard{3, 16}));
  EXPECT_EQ((Shard{3, 16}.name()), "3-of-16");
  for (const char* bad : {"", "/", "1", "1/", "/4", "4/4", "-1/4", "0/0", "0/-2", "1/2/3", " 0/2", "0 /2",
                          "a/b", "0x0/2", "0.0/2", "0/10001", "0/99999999999999999999"})
    EXPECT_FALSE(read_shard(bad)) << bad;
}

TEST_F(MergeTest, LeavesAShardWhatFailedAndWhatItHasItself) {
  Store merged(dir), own(shard_folder(dir, {0, 1}));
  TrialRecord failed = sample_record(plan.trials[1]);
  failed.status = Status::failed;
  merged.add(sample_record(plan.trials[0]));
  merged.add(failed);
  merged.add(sample_record(plan.trials[2]));
  own.add(sample_record(plan.trials[2]));
  std::vector<std::string> rest = plan.ids();
  rest.erase(rest.begin());
  EXPECT_EQ(narrowed(plan, {0, 1}, merged, own).ids(), rest);
}

TEST_F(MergeTest, GivesWhatOneUndisturbedRunGives) {
  run_one();
  for (const std::int64_t of : {1, 2, 5}) {
    std::filesystem::remove_all(dir);
    run_shards(of);
    const Ended ended = run("merge run");
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(ended.out.find("\nplan 12: 12 there (6 diverged), 0 new\n"), ended.out.npos) << ended.out;
    const hdf5::File merged = read_sealed(dir / "results.h5", results_format),
                     whole = read_sealed(one / "results.h5", results_format);
    EXPECT_TRUE(hdf5::identical(merged, whole)) << of;
    EXPECT_EQ(read_plan(dir)->ids(), plan.ids());
  }
}

TEST_F(MergeTest, MayBeRepeatedAndLeavesSourcesAlone) {
  run_shards(3);
  const auto shards = bytes_below(dir / "shards");
  ASSERT_EQ(run("merge run").code, 0);
  const auto once = bytes_below(dir);
  const Ended again = run("merge run run/shards/0-of-3");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(bytes_below(dir), once);
  EXPECT_EQ(bytes_below(dir / "shards"), shards);
}

TEST_F(MergeTest, TakesFoldersAndFilesFromElsewhere) {
  run_one();
  run_shards(2);
  const auto elsewhere = folder.path / "copied";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::rename(dir / "shards/0-of-2", elsewhere / "host-a");
  std::filesystem::rename(dir / "shards/1-of-2/results.h5", elsewhere / "b.h5");
  std::filesystem::rename(dir / "shards/1-of-2/trials", elsewhere / "trials");
  std::filesystem::rename(dir / "shards/1-of-2/sweep.json", elsewhere / "plan.json");
  const Ended ended = run("merge run copied/host-a copied/b.h5 copied");
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_same_contents(dir, one);
  EXPECT_EQ(run("merge run/results.h5").code, 2);
  EXPECT_EQ(run("merge run nowhere").err, "error: nowhere: neither a folder with results nor a file\n");
  EXPECT_EQ(run("merge nowhere").code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "nowhere"));
}

TEST_F(MergeTest, FoldsTheFoldersOwnTrialFiles) {
  run_one();
  {
    Store store(dir);
    store.add(sample_record(plan.trials[0]));
  }
  run_shards(2);
  ASSERT_EQ(run("merge run").code, 0);
  expect_same_contents(dir, one);
  EXPECT_FALSE(std::filesystem::exists(Store(dir).trial_path(plan.trials[0].id)));
}

TEST_F(MergeTest, NamesAGap) {
  run_shards(2);
  const path lost = loose();
  std::filesystem::remove(lost);
  expect_refused("merge run",
                 {"error: run: 1 of 12 planned trials are nowhere or unfinished: " + lost.stem().native()});
  const Ended partial = run("merge run --partial");
  EXPECT_EQ(partial.code, 0) << partial.err;
  EXPECT_NE(partial.err.find("note: run: 1 of 12 planned trials"), std::string::npos) << partial.err;
  EXPECT_NE(partial.out.find("plan 12: 11 there"), std::string::npos) << partial.out;
}

TEST_F(MergeTest, CountsAnUnfinishedTrialAsAGap) {
  run_shards(2);
  TrialRecord unfinished = read_trial(loose());
  unfinished.status = Status::interrupted;
  write_trial(loose(), unfinished);
  expect_refused("merge run",
                 {"error: run: 1 of 12 planned trials are nowhere or unfinished: " + unfinished.id});
}

TEST_F(MergeTest, NamesADisagreementAndWhereItBegins) {
  run_shards(2);
  TrialRecord other = read_trial(loose());
  other.train_loss[1] += 1e-15;
  other.provenance["host"] = "another";
  write_trial(folder.path / "other.h5", other);
  expect_refused(
      "merge run other.h5",
      {fmt::format("error: other.h5: other results than in run/{}: trial {}, train_loss is the first that "
                   "differs",
                   std::filesystem::relative(loose(), dir).native(), other.id)});
  other.train_loss[1] = read_trial(loose()).train_loss[1];
  write_trial(folder.path / "other.h5", other);
  EXPECT_EQ(run("merge run other.h5").code, 0) << "provenance may differ";
}

TEST_F(MergeTest, NamesAllDamagedForeignAndOtherFilesAtOnce) {
  run_shards(2);
  const auto results = read_bytes(dir / "shards/0-of-2/results.h5");
  write_quickly(folder.path / "truncated.h5", std::string_view(results).substr(0, results.size() / 2));
  write_quickly(folder.path / "empty.h5", "");
  write_quickly(folder.path / "foreign.h5", "PK\3\4 is no HDF5 file, however long");
  std::string flipped = results;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  write_quickly(folder.path / "flipped.h5", flipped);
  TrialRecord scheme = sample_record(plan.trials[0]);
  scheme.facts["result_scheme"] = result_scheme + 1;
  write_trial(folder.path / "scheme.h5", scheme);
  write_sealed(folder.path / "format.h5", {"another", 1}, {});
  write_sealed(folder.path / "newer.h5", {"headlab-trial", 2}, {});
  expect_refused(
      "merge run truncated.h5 empty.h5 foreign.h5 flipped.h5 scheme.h5 format.h5 newer.h5",
      {"error: truncated.h5: has no seal", "error: empty.h5: not an HDF5 file (0 bytes)",
       "error: foreign.h5: not an HDF5 file", "error: flipped.h5: damaged",
       "error: scheme.h5: made under result scheme 2, this headlab gives other numbers, 1: 1 trials",
       "error: format.h5: must be headlab-trial, is \"another\"",
       "error: newer.h5: headlab-trial of version 2"});
}

TEST_F(MergeTest, NotesOtherInstructionSets) {
  run_shards(2);
  TrialRecord other = sample_record(plan_of("base.model.dim = 64").trials[0]);
  other.provenance["instruction_set"] = "x86-64-v9";
  write_trial(folder.path / "other.h5", other);
  TrialRecord usual = sample_record(plan_of("base.model.dim = 128").trials[0]);
  usual.provenance["instruction_set"] = "x86-64-v3";
  write_trial(folder.path / "usual.h5", usual);
  const Ended ended = run("merge run other.h5 usual.h5");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("1 with x86-64-v3, 1 with x86-64-v9"), std::string::npos) << ended.err;
}

TEST_F(MergeTest, ReadsFilesWithoutASealIfAsked) {
  run_one();
  run_shards(2);
  take_seal_off(dir / "shards/0-of-2/results.h5");
  take_seal_off(loose());
  expect_refused("merge run", {"results.h5: has no seal", loose().filename().native() + ": has no seal",
                               "planned trials are nowhere"});
  std::filesystem::create_directory(folder.path / "tmp");
  const Ended ended = shell("TMPDIR=$PWD/tmp $HEADLAB merge run --accept-unsealed", folder.path);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path / "tmp"));
  EXPECT_NE(ended.err.find("shards/0-of-2/results.h5: has no seal; what it says is taken as it is"),
            std::string::npos);
  expect_same_contents(dir, one);
}

TEST_F(MergeTest, AFileWithoutASealHasItsOwnConfigurations) {
  run_shards(2);
  TrialRecord lie = sample_record(plan.trials[0]);
  lie.id = "0123456789abcdef";
  write_trial(folder.path / "lie.h5", lie);
  take_seal_off(folder.path / "lie.h5");
  expect_refused(
      "merge run lie.h5 --accept-unsealed",
      {"error: lie.h5: trial 0123456789abcdef has the configuration of trial " + plan.trials[0].id});
}

/// HDF5 may crash on such bytes: in a process of its own.
TEST_F(MergeTest, SurvivesWhatDamagedBytesDoToHdf5) {
  write_trial(folder.path / "a.h5", sample_record(plan.trials[0]));
  take_seal_off(folder.path / "a.h5");
  const std::string sound = read_bytes(folder.path / "a.h5");
  int refused = 0;
  for (std::size_t at = 0; at < sound.size(); at += sound.size() / 150) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xFF);
    write_quickly(folder.path / "b.h5", bytes);
    try {
      open_records(folder.path / "b.h5", Seal::may_be_missing);
    } catch (const DamagedError& e) {
      EXPECT_NE(std::string(e.what()).find("b.h5: "), std::string::npos) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 3);
}

struct ShardCommand : MergeTest {
  ShardCommand() {
    std::ofstream(folder.path / "a.toml")
        << tiny_specification("train.steps_per_epoch = 2\ntrain.epochs = 1\n", "seed = '0:5'\n");
  }
  Ended sweep(const std::string& options) const { return run("sweep a.toml --out run -j 1 " + options); }
  nlohmann::json status() const { return nlohmann::json::parse(run("status run --json").out).at("status"); }
};

TEST_F(ShardCommand, ShardsOfASweepMergeToTheSweep) {
  for (const char* shard : {"0/2", "1/2"}) {
    const Ended ended = sweep(fmt::format("--shard {}", shard));
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "results.h5")) << "a shard writes in its own folder alone";
  const auto before = status();
  EXPECT_EQ(before.at("planned"), 5);
  EXPECT_EQ(before.at("done"), 5);
  ASSERT_EQ(before.at("shards").size(), 2U);
  const auto& shards = before.at("shards");
  EXPECT_EQ(shards[0].at("shard"), "0-of-2");
  EXPECT_EQ(shards[0].at("planned").get<int>() + shards[1].at("planned").get<int>(), 5);
  EXPECT_EQ(shards[0].at("not_merged"), shards[0].at("done"));
  const Ended whole = sweep("--dry-run");
  EXPECT_NE(whole.err.find("note: run: shards there have 5 trials that this runs again"), std::string::npos)
      << whole.err;
  ASSERT_EQ(run("merge run").code, 0);
  EXPECT_EQ(status().at("shards")[0].at("not_merged"), 0);
  ASSERT_EQ(run("sweep a.toml --out one -j 1").code, 0);
  expect_same_contents(dir, one);
  const Ended again = sweep("");
  EXPECT_EQ(again.out, "plan 5: 5 there, 0 new\nplan 5: 5 there, 0 new\n") << again.err;
}

TEST_F(ShardCommand, WhatIsMergedIsNotRunAgain) {
  ASSERT_EQ(sweep("").code, 0);
  const Ended none = sweep("--shard 0/2");
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "run/shards/0-of-2: has nothing to run\n");
  ASSERT_EQ(sweep("--shard 0/1 --seed 0:7").code, 0);
  EXPECT_EQ(Store(dir / "shards/0-of-1").trials().size(), 2U);
  const Ended mixed = sweep("--shard 1/2 --seed 0:7 --dry-run");
  EXPECT_NE(mixed.err.find("note: run/shards: there are shards of 1, too"), std::string::npos) << mixed.err;
}

TEST_F(ShardCommand, RefusesOtherForms) {
  for (const char* bad : {"2/2", "1", "a/b", "-1/2"}) {
    const Ended ended = sweep(fmt::format("--shard={}", bad));
    EXPECT_EQ(ended.code, 2) << bad;
    EXPECT_EQ(ended.err.find(fmt::format("error: --shard: {} is not i/n with 0 <= i < n", bad)), 0U)
        << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(dir));
}

}  // namespace
}  // namespace headlab::test
