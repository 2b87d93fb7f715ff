// train, trace and sweep, with models that take milliseconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/log/trace_file.hpp"
#include "tests/support/child.hpp"

namespace headlab::test {
namespace {

const std::string tiny =
    " --task.name mode --task.length 8 --model.dim 8 --model.heads 2 --train.batch 4 --train.steps_per_epoch "
    "2 "
    "--eval.sequences 8 --eval.test_sequences 8 ";
const std::string small = tiny + "--train.epochs 3 ";

struct TrainCommand : testing::Test {
  TemporaryFolder folder;

  Ended run(const std::string& command) const { return shell("$HEADLAB " + command, folder.path); }
  bool untouched() const { return std::filesystem::is_empty(folder.path); }
  std::filesystem::path file(const char* name) const { return folder.path / name; }
};

TEST_F(TrainCommand, PrintsALineAnEpochUnderOneHeader) {
  const Ended ended = run("train" + small);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.find("epoch "), 0U);
  for (const char* start : {"\n    1  ", "\n    2  ", "\n    3  ", "\ntest@1: ", "\ntest@2: ", "\ntrial "})
    EXPECT_NE(ended.out.find(start), ended.out.npos) << start << ended.out;
  EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1 + 3 + 2 + 1);
  EXPECT_TRUE(untouched());
}

TEST_F(TrainCommand, KeepsATrialFile) {
  const Ended ended = run("train" + small + "--out deep/run.h5");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const TrialRecord t = read_trial(file("deep/run.h5"));
  EXPECT_EQ(t.status, Status::done);
  EXPECT_NE(ended.out.find("trial " + t.id), ended.out.npos);
  EXPECT_EQ(t.step, (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(std::get<std::int64_t>(t.config.at("model.dim")), 8);
  EXPECT_FALSE(t.config.contains("task.case_bias"));  // inert
  EXPECT_EQ(std::get<std::int64_t>(t.facts.at("result_scheme")), 1);
  EXPECT_EQ(std::get<std::string>(t.provenance.at("command_line")).find("headlab train --task.name mode"),
            0U);
  EXPECT_EQ(std::get<std::int64_t>(t.provenance.at("threads")), 1);
  EXPECT_TRUE(std::get<bool>(t.provenance.at("flush_to_zero")));
  EXPECT_EQ(std::get<std::string>(t.provenance.at("onednn_fpmath_mode")), "strict");
  for (const char* time : {"start", "end"})
    EXPECT_EQ(std::get<std::string>(t.provenance.at(time)).size(), 20U);
  for (const char* part : {"training", "evaluation", "data", "writing"}) {
    const double seconds = std::get<double>(t.provenance.at(fmt::format("seconds_{}", part)));
    EXPECT_TRUE(seconds > 0 && seconds < 60) << part << ' ' << seconds;
  }
}

TEST_F(TrainCommand, GivesTheSameNumbersFromItsOwnConfiguration) {
  run("train" + small + "--out a.h5");
  const TrialRecord first = read_trial(file("a.h5"));
  write_atomically(file("a.toml"), first.configuration);
  EXPECT_EQ(run("train a.toml --out b.h5").code, 0);
  const TrialRecord second = read_trial(file("b.h5"));
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.train_loss, first.train_loss);
  EXPECT_EQ(second.test_loss, first.test_loss);
}

TEST_F(TrainCommand, ReplacesAFileByForceOnly) {
  write_atomically(file("a.h5"), "precious");
  const Ended refused = run("train --modle.dim 3 --out a.h5");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err,
            "error: --modle.dim: not an option, the nearest is --model.dim\n"
            "error: --out: a.h5 is there already; --force overwrites it\n");
  EXPECT_EQ(read_bytes(file("a.h5")), "precious");
  EXPECT_EQ(run("train" + small + "--out a.h5 --force").code, 0);
  EXPECT_EQ(read_trial(file("a.h5")).status, Status::done);
  EXPECT_EQ(run("train --out .").err, "error: --out: . is not a file's name\n");
}

TEST_F(TrainCommand, CallsADivergedTrialAResult) {
  const Ended ended = run("train" + small + "--lr 1e30 --out a.h5");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const TrialRecord t = read_trial(file("a.h5"));
  EXPECT_EQ(t.status, Status::diverged);
  EXPECT_NE(ended.out.find(": diverged, " + t.message), ended.out.npos);
}

TEST_F(TrainCommand, KeepsItsFileWhenNobodyReadsOn) {
  const Ended ended = run("train" + small + "--out a.h5 | head -n 1; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(ended.out.ends_with("\n0\n")) << ended.out;
  EXPECT_EQ(read_trial(file("a.h5")).status, Status::done);
  const Ended endless = run("train" + tiny + "--train.epochs 1000000 | head -n 2; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(endless.err, "");
  EXPECT_TRUE(endless.out.ends_with("\n0\n")) << endless.out;
}

TEST_F(TrainCommand, WantsADurationAndAFileForCheckpoints) {
  const Ended ended = run("train --checkpoint-every 10");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: --checkpoint-every: 10 is not a duration, such as 90s, 90m, 2h or 1-12:00:00\n"
            "error: --checkpoint-every: wants --out\n");
}

TEST_F(TrainCommand, LeavesNoCheckpointBesideItsFile) {
  const Ended ended = run("train" + small + "--out a.h5 --checkpoint-every 0s");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST_F(TrainCommand, StoppedAtOnceKeepsNothing) {
  const Ended ended = shell(
      "lines=$(mktemp); $HEADLAB train" + tiny +
          "--train.epochs 1000000 --out a.h5 > $lines & p=$!; "
          "until [ -s $lines ]; do kill -0 $p || exit 99; sleep .01; done; kill -TERM $p; wait $p; c=$?; "
          "rm $lines; exit $c",
      folder.path);
  EXPECT_EQ(ended.code, 143);
  EXPECT_EQ(ended.err, "note: stopped early, too soon for a checkpoint: nothing is kept\n");
  EXPECT_TRUE(untouched());
}

using TrainCommandSlow = TrainCommand;

/// The file without times.
hdf5::File numbers(const std::filesystem::path& file) {
  TrialRecord t = read_trial(file);
  t.provenance.clear();
  t.facts.erase("seconds");
  return to_file(t);
}

TEST_F(TrainCommandSlow, StoppedBySignalsGoesOnToTheSameBits) {
  const std::string train =
      "train --task.name mode --task.length 40 --model.architecture bert --model.dim 8 --model.heads 2 "
      "--model.dropout .1 --train.epochs 400 --train.steps_per_epoch 40 --eval.every 7 "
      "--eval.sequences 8 --eval.test_sequences 8 --out ";
  const Ended whole = run(train + "whole.h5");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const auto checkpoints = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path))
      if (entry.path().extension() == ".checkpoint") found.push_back(entry.path());
    return found;
  };
  int stopped = 0;
  Ended ended;
  for (const char* signal : {"TERM", "KILL", "INT", "HUP", "NONE"}) {
    const std::string limit =
        signal == std::string("NONE") ? "" : fmt::format("timeout --preserve-status -s {} 6.5 ", signal);
    ended = shell(fmt::format("{}$HEADLAB {}parts.h5 --checkpoint-every 2s", limit, train), folder.path);
    if (ended.code == 0) break;
    ++stopped;
    EXPECT_FALSE(std::filesystem::exists(file("parts.h5")));
    ASSERT_EQ(checkpoints().size(), 1U) << signal << ended.err;
  }
  EXPECT_GE(stopped, 1);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find(": goes on after step "), ended.err.npos) << ended.err;
  EXPECT_TRUE(checkpoints().empty());
  EXPECT_TRUE(hdf5::identical(numbers(file("parts.h5")), numbers(file("whole.h5"))));
}

using TraceCommand = TrainCommand;

TEST_F(TraceCommand, WritesATraceFile) {
  const Ended ended = run("trace" + small + "--steps 2 --out t.h5");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const TraceRecord t = read_trace(file("t.h5"));
  EXPECT_EQ(t.steps.tokens.shape, (std::vector<std::size_t>{2, 4, 8}));
  EXPECT_EQ(std::get<std::int64_t>(t.config.at("model.dim")), 8);
  EXPECT_FALSE(t.config.contains("task.case_bias"));
  EXPECT_EQ(std::get<std::string>(t.provenance.at("command_line")).find("headlab trace"), 0U);
}

TEST_F(TraceCommand, RefusesWhatItCannotTrace) {
  const std::pair<std::string, const char*> faults[]{
      {"trace --steps 0", "error: --out: must be given\nerror: --steps: 0 is not >= 1\n"},
      {"trace", "error: --steps: must be given\nerror: --out: must be given\n"},
      {"trace" + small + "--steps 1 --out t.h5 --model.dropout .5",
       "error: model.dropout: 0.5 is not 0, as a trace needs it\n"},
      {"trace" + small + "--steps 1000 --out t.h5", ""}};
  for (const auto& [command, errors] : faults) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err.find(*errors != 0 ? errors : "error: "), 0U) << ended.err;
  }
  EXPECT_TRUE(untouched());
}

struct SweepCommand : TrainCommand {
  SweepCommand() {
    write_atomically(
        file("a.toml"),
        "name = 'try'\ntitle = 'A try'\n[base]\ntask.name = 'mode'\ntask.length = 8\nmodel.dim = 8\n"
        "train.batch = 4\ntrain.steps_per_epoch = 2\ntrain.epochs = 2\neval.sequences = 8\n"
        "eval.test_sequences = 8\n[grid]\nmodel.architecture = ['mte', 'sum']\nseed = [0, 1]\n");
  }
};

TEST_F(SweepCommand, RunsWhatIsMissing) {
  const Ended dry = run("sweep a.toml --dry-run");
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find("to run: 4 trials"), dry.out.npos) << dry.out;
  EXPECT_FALSE(std::filesystem::exists(file("results")));
  const Ended first = run("sweep a.toml -j 2");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "plan 4: 0 there, 4 new\nplan 4: 4 there, 0 new\n");
  const Ended wider = run("sweep a.toml --seed 0,1,2 -j 1 | cat");
  EXPECT_EQ(wider.out, "plan 6: 4 there, 2 new\nplan 6: 6 there, 0 new\n") << wider.err;
  EXPECT_EQ(
      run("list results/try --columns model.architecture,seed,status --where 'seed > 0'").out,
      "model.architecture  seed  status\nmte                 1     done\nmte                 2     done\n"
      "sum                 1     done\nsum                 2     done\n");
}

TEST_F(SweepCommand, TellsWhatQueriesAndKeysCost) {
  run("sweep a.toml");
  const std::string columns = "model.architecture,query_key_parameters,key_cache,score_operations";
  const auto listed = nlohmann::json::parse(run("list results/try --json --columns id," + columns).out);
  for (const auto& trial : listed.at("trials")) {
    const bool attends = trial.at("model.architecture") == "mte";  // two layers, D_k = d = 8
    EXPECT_EQ(trial.at("query_key_parameters"), attends ? 2 * 9 * 16 : 0);
    EXPECT_EQ(trial.at("key_cache"), attends ? 2 * 8 : 0);
    EXPECT_EQ(trial.at("score_operations"), attends ? 2 * 2 * 8 : 0);
    const auto shown = run("show results/try " + trial.at("id").get<std::string>()).out;
    EXPECT_NE(shown.find("\nkey_cache "), shown.npos) << shown;
  }
}

TEST_F(SweepCommand, TellsWhereTheTimeWent) {
  run("sweep a.toml");
  const std::string parts =
      "provenance.seconds_training,provenance.seconds_evaluation,provenance.seconds_data,"
      "provenance.seconds_writing";
  const auto listed = nlohmann::json::parse(run("list results/try --json --columns id," + parts).out);
  EXPECT_EQ(listed.at("trials").size(), 4U);
  for (const auto& trial : listed.at("trials")) {
    const auto shown =
        nlohmann::json::parse(run("show results/try --json " + trial.at("id").get<std::string>()).out);
    for (const std::string part : {"training", "evaluation", "data", "writing"}) {
      const double seconds = trial.at("provenance.seconds_" + part);
      EXPECT_TRUE(seconds > 0 && seconds < 60) << part << ' ' << seconds;
      EXPECT_EQ(shown.at("trial").at("provenance").at("seconds_" + part), seconds);
    }
  }
}

TEST_F(SweepCommand, IsStoppedBySignalsAndGoesOn) {
  const Ended stopped = shell(
      "timeout -k 5 --preserve-status -s TERM 1 $HEADLAB sweep a.toml --out run "
      "--train.epochs 100000 -j 1",
      folder.path);
  EXPECT_EQ(stopped.code, 143) << stopped.err;
  const auto status = nlohmann::json::parse(run("status run --json").out).at("status");
  EXPECT_EQ(status.at("pending"), 4);
  EXPECT_EQ(status.at("pending_ids").size(), 4U);
}

TEST_F(SweepCommand, RefusesWhatItCannotRun) {
  const std::pair<const char*, const char*> faults[]{
      {"sweep", "error: sweep: wants SPEC.toml [--KEY V[,V...]]..., was given none\n"},
      {"sweep none.toml", "error: none.toml: not a file that can be read\n"},
      {"sweep a.toml -j 0 --modle.dim 3",
       "error: --modle.dim: not an option, the nearest is --model.dim\n"
       "error: --jobs: 0 is not in [1, 4096]\n"},
      {"sweep a.toml --json", "error: --json: wants --dry-run\n"},
      {"sweep a.toml --only xyz", "error: --only: xyz: no trial has such an id\n"}};
  for (const auto& [command, errors] : faults) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, errors);
  }
  EXPECT_FALSE(std::filesystem::exists(file("results")));
}

}  // namespace
}  // namespace headlab::test
