#include "sweeps/store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/base/error.hpp"
#include "core/log/atomic_file.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {
namespace {

struct StoreTest : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of("[grid]\nseed = '0:6'\nlr = [0.1, 0.9]");

  TrialRecord record(std::size_t i) const { return sample_record(plan.trials[i]); }
  std::string id(std::size_t i) const { return plan.trials[i].id; }
  Counts counts() const { return count(plan, Store(folder.path)); }
  std::string summarised() const { return summary(counts(), "DIR"); }
};

TEST_F(StoreTest, IsEmptyWhereThereIsNothing) {
  const Store store(folder.path / "none");
  EXPECT_TRUE(store.trials().empty());
  EXPECT_FALSE(store.wants_folding());
  EXPECT_FALSE(std::filesystem::exists(folder.path / "none"));
  EXPECT_EQ(count(plan, store), (Counts{.planned = 12, .pending = 12}));
}

TEST_F(StoreTest, KnowsLooseAndFoldedTrials) {
  Store store(folder.path);
  for (std::size_t i = 0; i < 4; ++i) store.add(record(i));
  EXPECT_TRUE(std::filesystem::exists(folder.path / "trials" / id(0).substr(0, 2) / (id(0) + ".h5")));
  store.fold(plan, false);
  EXPECT_FALSE(std::filesystem::exists(store.trial_path(id(0))));
  TrialRecord failed = record(4), interrupted = record(5);
  failed.status = Status::failed, failed.message = "no";
  interrupted.status = Status::interrupted;
  store.add(failed);
  store.add(interrupted);
  for (const Store& s : {store, Store(folder.path)}) {
    EXPECT_EQ(count(plan, s), (Counts{12, 2, 2, 1, 7, 0}));
    EXPECT_TRUE(s.find(id(0))->folded);
    EXPECT_FALSE(s.find(id(0))->loose);
    EXPECT_EQ(s.find(id(0))->scheme, result_scheme);
    EXPECT_EQ(s.find(id(0))->seconds, 0);
    EXPECT_EQ(s.find(id(4))->message, "no");
    EXPECT_TRUE(s.find(id(5))->loose);
    EXPECT_EQ(s.find(id(6)), nullptr);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TRUE(hdf5::identical(to_file(s.read(id(i))), to_file(record(i)))) << i;
    EXPECT_EQ(s.read(id(4)).message, "no");
    EXPECT_EQ(s.read_all().size(), 6u);
    EXPECT_THROW(s.read("0"), std::out_of_range);
  }
}

TEST_F(StoreTest, CountsWhatThePlanHasAndWhatItHasNot) {
  EXPECT_EQ(summarised(), "plan 12: 0 there, 12 new");
  Store store(folder.path);
  for (std::size_t i = 0; i < 12; ++i) store.add(record(i));
  plan = plan_of("[grid]\nseed = '0:1200'\nlr = [0.1]");
  EXPECT_EQ(counts(), (Counts{1200, 6, 0, 0, 1194, 6}));
  EXPECT_EQ(summarised(), "plan 1,200: 6 there, 1,194 new; DIR holds 6 others");
  TrialRecord failed = record(1);
  failed.status = Status::failed;
  store.add(failed);
  plan = plan_of("[grid]\nseed = '0:6'\nlr = [0.1, 0.9]");
  EXPECT_EQ(summarised(), "plan 12: 12 there (6 diverged, 1 failed), 0 new");
}

static_assert(!is_crowded(256, 256) && is_crowded(257, 257));
static_assert(is_crowded(257, 5139) && !is_crowded(257, 5140));

TEST_F(StoreTest, KeepsTrialFilesIfAsked) {
  Store store(folder.path);
  store.add(record(0));
  store.fold(plan, true);
  EXPECT_TRUE(std::filesystem::exists(store.trial_path(id(0))));
  Store again(folder.path);
  EXPECT_TRUE(again.find(id(0))->loose && again.find(id(0))->folded);
  EXPECT_TRUE(again.is_folded(plan));
  again.add(record(1));
  EXPECT_FALSE(again.is_folded(plan));
  again.fold(plan, true);
  EXPECT_EQ(contents(folder.path).size(), 2u);
  EXPECT_EQ(again.damaged(), std::vector<std::string>{});
}

TEST_F(StoreTest, LeavesBusyTrialsOutOfAFolding) {
  Store store(folder.path);
  for (std::size_t i = 0; i < 3; ++i) store.add(record(i));
  const Folding folding = store.folding(plan, false, {}, {id(1)});
  EXPECT_EQ(folding.files.size(), 2u);
  EXPECT_EQ(std::ranges::count(folding.files, store.trial_path(id(1))), 0);
  store.note(folding, headlab::fold(folding.results, folding.files, folding.specification, folding.plan),
             plan, false);
  EXPECT_TRUE(store.find(id(0))->folded && !store.find(id(1))->folded);
  EXPECT_TRUE(std::filesystem::exists(store.trial_path(id(1))));
  EXPECT_FALSE(store.is_folded(plan));
}

TEST_F(StoreTest, FinishesAFoldingThatWasKilled) {
  Store store(folder.path);
  store.add(record(0));
  store.fold(plan, true);  // as if killed before the files went
  Store again(folder.path);
  again.add(record(1));
  again.fold(plan, false);
  EXPECT_FALSE(std::filesystem::exists(again.trial_path(id(0))));
  EXPECT_EQ(contents(folder.path).size(), 2u);
}

TEST_F(StoreTest, ATrialRunAgainCountsBeforeItIsFolded) {
  Store store(folder.path);
  TrialRecord failed = record(0);
  failed.status = Status::failed;
  store.add(failed);
  store.fold(plan, false);
  store.add(record(0));
  EXPECT_EQ(counts(), (Counts{12, 1, 0, 0, 11, 0}));
  Store again(folder.path);
  EXPECT_EQ(again.read(id(0)).status, Status::done);
  EXPECT_EQ(again.read_all().size(), 1u);
  again.fold(plan, false);
  EXPECT_EQ(contents(folder.path).at(id(0)).status, Status::done);
}

TEST_F(StoreTest, NamesDamagedAndConflictingFilesAndLeavesThemAlone) {
  Store writer(folder.path);
  for (std::size_t i = 0; i < 4; ++i) writer.add(record(i));
  writer.fold(plan, true);
  writer.add(record(4));
  writer.add(record(5));
  write_atomically(writer.trial_path(id(4)), "x");
  std::filesystem::rename(writer.trial_path(id(5)), writer.trial_path(id(4)).parent_path() / "ab.h5");
  TrialRecord other = record(0);
  other.train_loss[0] += 1;
  write_trial(writer.trial_path(id(0)), other);

  Store store(folder.path);
  ASSERT_EQ(store.damaged().size(), 2u);
  EXPECT_TRUE(store.is_damaged(id(4)));
  EXPECT_EQ(count(plan, store), (Counts{12, 2, 2, 0, 8, 0}));
  store.fold(plan, false);
  ASSERT_EQ(store.damaged().size(), 3u);
  EXPECT_TRUE(store.is_damaged(id(0)));
  std::string all;
  for (const std::string& line : store.damaged()) all += line + "\n";
  for (const char* part : {": not an HDF5 file (1 bytes); move it away and run its sweep again",
                           "ab.h5: is trial ", ": other results than in "})
    EXPECT_NE(all.find(part), all.npos) << all;
  store.add(record(7));
  store.fold(plan, false);
  EXPECT_EQ(store.damaged().size(), 3u) << "each is named once";
  EXPECT_EQ(read_bytes(store.trial_path(id(4))), "x");
  EXPECT_TRUE(std::filesystem::exists(store.trial_path(id(0))));
}

TEST_F(StoreTest, RefusesDamagedResults) {
  const auto refusal = [&]() -> std::string {
    try {
      const Store store(folder.path);
    } catch (const DamagedError& e) {
      return e.what();
    }
    return "none";
  };
  write_atomically(folder.path / "results.h5", "x");
  EXPECT_NE(refusal().find("not an HDF5 file (1 bytes); put back a copy of it, or move it away"),
            std::string::npos);
  std::filesystem::remove(folder.path / "results.h5");
  std::filesystem::create_directory(folder.path / "results.h5");
  EXPECT_EQ(refusal().find((folder.path / "results.h5").native() + ": cannot read: Is a directory; put back"),
            0U)
      << refusal();
  std::filesystem::remove(folder.path / "results.h5");
  std::filesystem::create_symlink("results.h5", folder.path / "results.h5");  // leads nowhere
  EXPECT_EQ(refusal().find((folder.path / "results.h5").native() + ": cannot open: "), 0U) << refusal();
}

TEST_F(StoreTest, NamesWhatCannotBeRead) {
  Store writer(folder.path);
  for (std::size_t i = 0; i < 3; ++i) writer.add(record(i));
  const auto turn = [&](std::size_t i) {
    std::filesystem::remove(writer.trial_path(id(i)));
    return writer.trial_path(id(i));
  };
  std::filesystem::create_directory(turn(0));
  const auto loop = turn(1);
  std::filesystem::create_symlink(loop, loop);
  const auto misplaced = folder.path / "trials" / "none" / (id(2) + ".h5");
  std::filesystem::create_directory(misplaced.parent_path());
  std::filesystem::rename(writer.trial_path(id(2)), misplaced);
  std::ofstream(folder.path / "trials" / "file.h5") << "is in no folder of trials";

  const Store store(folder.path);
  EXPECT_TRUE(store.trials().empty());
  ASSERT_EQ(store.damaged().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(store.is_damaged(id(i))) << i;
  const auto starts = [&](std::size_t i, const std::string& start) {
    EXPECT_EQ(store.damaged_ids().at(id(i)).find(start), 0U) << store.damaged_ids().at(id(i));
  };
  starts(0, writer.trial_path(id(0)).native() + ": cannot read: Is a directory; move it away");
  starts(1, loop.native() + ": cannot open: ");
  starts(2, misplaced.native() + ": belongs in " + writer.trial_path(id(2)).native());
}

TEST_F(StoreTest, OfAnotherResultSchemeIsRefusedWithAdvice) {
  Store store(folder.path);
  TrialRecord old = record(0);
  old.facts["result_scheme"] = result_scheme + 1;
  store.add(old);
  require_scheme(Store(folder.path / "none"));
  try {
    require_scheme(Store(folder.path));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("choose another --out"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace headlab::test
