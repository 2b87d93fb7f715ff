// What ends a sweep, or a trial, before its time.
#include <chrono>

#include "sweeps/attempts.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

using RunnerLimits = RunnerTest;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST_F(RunnerLimits, ATrialThatTakesTooLongFails) {
  RunOptions options = sample_options(scenario("never-ends"), 3);
  options.trial_timeout = 3;
  const RunResult r = go(options);
  EXPECT_EQ(r.counts, (Counts{12, 5, 5, 2, 0, 0}));
  EXPECT_EQ(r.exit_code, 1);
  const auto all = contents(folder.path / "a");
  for (const std::string& id : guilty())
    EXPECT_EQ(all.at(id).message, "ended after 3s, the limit of --trial-timeout");
  go(sample_options(), "b");
  for (const auto& [id, t] : contents(folder.path / "b"))
    EXPECT_EQ(hdf5::identical(to_file(t), to_file(all.at(id))), !guilty().contains(id)) << id;
}

TEST_F(RunnerLimits, WhatDoesNotStopIsKilledAndPending) {
  RunOptions options = sample_options(scenario("never-ends"), 2);
  options.only = guilty();
  options.grace = .3;
  const auto start = Clock::now();
  options.stop = [&] { return seconds_since(start) > .3; };
  const RunResult r = go(options);
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_EQ(r.counts, (Counts{.planned = 12, .pending = 12}));
  EXPECT_TRUE(read_attempts(folder.path / "a").empty()) << "it was no crash";
}

TEST_F(RunnerLimits, SoManyFailuresStopASweep) {
  for (const std::int64_t most : {1, 3}) {
    RunOptions options = sample_options(scenario("throws"));
    options.max_failures = most;
    const RunResult r = go(options, std::to_string(most));
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_EQ(r.counts.failed, most);
    EXPECT_EQ(r.faults.back(),
              "stopped after " + std::to_string(most) + " failed trials, as --max-failures says");
  }
}

TEST_F(RunnerLimits, TenFailuresInARowStopASweep) {
  RunResult r = go(sample_options(scenario("throws")));
  EXPECT_EQ(r.counts, (Counts{12, 0, 0, 10, 2, 0}));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.faults.back(), "stopped after 10 failed trials in a row");
  r = go(sample_options(scenario("throws")));
  EXPECT_EQ(r.counts, (Counts{12, 0, 0, 12, 0, 0}));
  EXPECT_EQ(r.ran, 12) << "what has failed before does not count again";
  plan = plan_of("[grid]\nmodel.dim = [8, 32, 16]\nseed = '0:6'");
  EXPECT_EQ(go(sample_options(scenario("throws-at-some")), "b").counts, (Counts{18, 6, 0, 12, 0, 0}))
      << "others lie between";
}

TEST_F(RunnerLimits, NoTrialStartsThatTheTimeLeftDoesNotReachFor) {
  RunOptions options = log.options();
  options.pace = Pace([](const Config& c) { return static_cast<double>(c.model.dim); });
  options.time_left = [] { return 20.; };
  const RunResult r = go(options);
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_EQ(r.ran, 8);
  for (const PlannedTrial& t : plan.trials)
    EXPECT_EQ(store().find(t.id) == nullptr, t.config.model.dim == 32) << t.config.model.dim;
}

TEST_F(RunnerLimits, ATrialStartsIfTheTimeLeftReachesForWhatItsCheckpointLeaves) {
  RunOptions options = log.options();
  options.pace = Pace([](const Config& c) { return static_cast<double>(c.model.dim); });
  options.time_left = [] { return 20.; };
  options.share_left = [](const PlannedTrial& t) { return t.config.seed == 0 ? .6 : .7; };
  const RunResult r = go(options);
  EXPECT_EQ(r.ran, 10);
  for (const PlannedTrial& t : plan.trials)
    EXPECT_EQ(store().find(t.id) == nullptr, t.config.model.dim == 32 && t.config.seed == 1);
}

TEST_F(RunnerLimits, AtTheEndOfTheTimeTrialsAreStopped) {
  RunOptions options = sample_options(scenario("waits-at-seed-1", log.file), 2);
  const auto start = Clock::now();
  options.time_left = [&] { return log.count() < 8 ? 1e9 : .5 - seconds_since(start); };
  const RunResult r = go(options);
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_EQ(r.ran, 6);
}

}  // namespace
}  // namespace headlab::test
