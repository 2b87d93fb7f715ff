// Several processes that run trials of one folder.
#include <sys/stat.h>
#include <sys/wait.h>

#include <optional>
#include <random>
#include <thread>

#include "sweeps/account.hpp"
#include "sweeps/claims.hpp"
#include "tests/support/runner.hpp"
#include "tests/support/supervisor.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct RunnerShared : RunnerTest {
  const std::filesystem::path shared = folder.path / "a";
  int acts = 0, acted = 0;  ///< of once(): those that are to come, and those that came

  void TearDown() override { EXPECT_EQ(acted, acts) << "it did not wait for what another process does"; }

  /// Trials of 5 ms that write down their ids.
  std::vector<std::string> logging(const std::string& milliseconds = "5") const {
    return scenario("sleeps", milliseconds, log.file);
  }
  void expect_each_ran_once() const {
    std::map<std::string, int> runs;
    for (const std::string& id : log.ids()) ++runs[id];
    EXPECT_EQ(runs.size(), plan.trials.size());
    for (const auto& [id, n] : runs) EXPECT_EQ(n, 1) << id;
  }
  void expect_as_undisturbed() const {
    go(sample_options(scenario("fine"), 2), "undisturbed");
    expect_same_contents(shared, folder.path / "undisturbed");
    EXPECT_EQ(Store(shared).damaged(), std::vector<std::string>{});
    EXPECT_TRUE(Store(shared).is_folded(plan));
    EXPECT_TRUE(read_attempts(shared).empty());
  }
  void run_at_once(int processes, const std::string& axes) {
    plan = plan_of(axes);
    std::vector<Supervisor> all;
    for (int i = 0; i < processes; ++i) all.emplace_back(shared, axes, logging());
    for (Supervisor& s : all) EXPECT_EQ(s.wait(), 0);
    expect_each_ran_once();
    expect_as_undisturbed();
  }
  /// A stop that never comes; `act` is done once, as soon as `when` says so and a second later.
  std::function<bool()> once(const std::function<bool()>& when, const std::function<void()>& act) {
    ++acts;
    return [=, this, seen = std::optional<Clock::time_point>(), done = false]() mutable {
      if (!seen && when()) seen = Clock::now();
      if (seen && !done && Clock::now() - *seen > 1s) act(), done = true, ++acted;
      return false;
    };
  }
};

TEST_F(RunnerShared, ByTwoAtOnce) { run_at_once(2, runner_axes); }
TEST_F(RunnerShared, ByTwentyAtOnce) { run_at_once(20, "[grid]\nseed = '0:60'\n"); }

TEST_F(RunnerShared, WaitsForWhatAnotherHolds) {
  Claims others(shared);
  others.take(plan.ids()[3]), others.take(plan.ids()[7]);
  others.take("0000000000000001");  // of another plan
  std::string out;
  Progress progress({[&](std::string_view text) { out += text; }, false},
                    [now = 0.]() mutable { return now += 31; });
  RunOptions options = log.options(2);
  options.progress = &progress;
  options.stop = once([&] { return log.count() == 10; },
                      [&] {
                        EXPECT_EQ(log.count(), 10u);
                        others.release(plan.ids()[3]), others.release(plan.ids()[7]);
                      });
  const RunResult r = go(options);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_NE(out.find(", 2 running elsewhere"), out.npos) << out;
  expect_each_ran_once();
}

TEST_F(RunnerShared, IsStoppedWhileItWaits) {
  Claims others(shared);
  others.take(plan.ids()[3]);
  RunOptions options = log.options(2);
  options.stop = [&] { return log.count() == 11; };
  EXPECT_EQ(go(options).exit_code, 75);
  EXPECT_EQ(store().trials().size(), 11u) << "folded or not";
}

TEST_F(RunnerShared, TakesOverWhatAKilledHolderLeaves) {
  const std::string begun = (folder.path / "begun").native();
  Supervisor other(shared, runner_axes, scenario("waits-at-seed-1", begun), 3);
  while (RunLog{begun}.count() < 9) std::this_thread::sleep_for(5ms);  // 6 of seed 0, and 3 that never end
  other.signal(SIGSTOP);
  RunOptions options = log.options(2);
  options.stop = once([&] { return log.count() == 3; },
                      [&] {
                        EXPECT_EQ(log.count(), 3u) << "a stopped one keeps its claims";
                        other.kill();
                      });
  const RunResult r = go(options);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(log.count(), 6u) << "what the other one had done is not done again";
  expect_as_undisturbed();
}

TEST_F(RunnerShared, AWorkerThatHasLostItsSupervisorEndsBeforeItsTrialBeginsAgain) {
  const std::string id = plan.ids()[3];
  const pid_t orphan = fork();
  if (orphan == 0) {
    pause();
    _exit(0);
  }
  {
    std::filesystem::create_directories(shared);
    Attempts left(shared);
    left.begin(id, orphan);
  }
  RunOptions options = log.options(2);
  options.stop = once([&] { return log.count() == 11; },
                      [&] {
                        EXPECT_EQ(log.count(), 11u);
                        kill(orphan, SIGKILL);
                        waitpid(orphan, nullptr, 0);
                      });
  EXPECT_EQ(go(options).exit_code, 0);
  expect_each_ran_once();
  EXPECT_EQ(log.ids().back(), id);
  expect_as_undisturbed();
}

TEST_F(RunnerShared, WhatOthersHaveEndedSinceTheStoreWasReadIsNotRunAgain) {
  Store stale(shared);
  RunOptions first = sample_options();
  first.only = {plan.ids()[0], plan.ids()[5]};
  go(first);  // is in results.h5
  write_trial(stale.trial_path(plan.ids()[2]), sample_record(plan.trials[2]));
  const RunResult r = run(core_only(), plan, stale, log.options(2));
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.ran, 9);
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(log.count(), 9u);
  expect_as_undisturbed();
}

TEST_F(RunnerShared, StartedWhenAllIsDoneDoesNothing) {
  run_at_once(1, runner_axes);
  Supervisor late(shared, runner_axes, logging());
  EXPECT_EQ(late.wait(), 0);
  expect_each_ran_once();
}

TEST_F(RunnerShared, AFailureIsTriedAgainByOneProcessOnly) {
  Store stale(shared);
  RunOptions two = sample_options(scenario("throws"));
  two.only = {plan.ids()[0], plan.ids()[5]};
  go(two);
  const RunResult r = run(core_only(), plan, stale, log.options());
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.counts.failed, 2) << "they failed after this process had begun";
  EXPECT_EQ(log.count(), 10u);
  EXPECT_EQ(go(log.options()).exit_code, 0) << "they failed before";
  expect_each_ran_once();
}

TEST_F(RunnerShared, WhatHasCrashedElsewhereRunsAlone) {
  const std::string id = plan.ids()[0];
  Store stale(shared);
  RunOptions options = log.options(2);
  bool crashed = false;
  options.stop = [&] {  // as soon as it has begun, another process has a crash, and dies
    if (!std::exchange(crashed, true)) {
      Attempts others(shared);
      others.begin(id, getpid());
      others.crash(id, "exit code 3");
    }
    return false;
  };
  EXPECT_EQ(run(core_only(), plan, stale, options).exit_code, 0);
  EXPECT_EQ(log.ids().back(), id);
  expect_each_ran_once();
}

TEST_F(RunnerShared, ByTwoWithPlansThatOverlap) {
  const std::string left = "[grid]\nseed = '0:40'\n", right = "[grid]\nseed = '20:60'\n";
  Supervisor a(shared, left, logging()), b(shared, right, logging());
  EXPECT_EQ(a.wait(), 0);
  EXPECT_EQ(b.wait(), 0);
  plan = plan_of("[grid]\nseed = '0:60'\n");
  expect_each_ran_once();
  const Store all(shared);
  EXPECT_EQ(count(plan, all), (Counts{.planned = 60, .done = 60}));
  for (const auto& [id, known] : all.trials()) EXPECT_TRUE(known.folded) << id;
}

TEST_F(RunnerShared, FoldsOnceTheOtherOneHasFolded) {
  const FoldLock others(shared);
  ASSERT_TRUE(others.take());
  Store stale(shared);
  RunOptions options = log.options();
  options.stop = once([&] { return log.count() == 12; },
                      [&] {
                        EXPECT_FALSE(std::filesystem::exists(shared / "results.h5"));
                        Store store(shared);
                        store.fold(plan_of("[grid]\nseed = '20:22'\n"), false);
                        others.release();
                      });
  EXPECT_EQ(run(core_only(), plan, stale, options).exit_code, 0);
  expect_as_undisturbed();
}

TEST_F(RunnerShared, FoldsIntoWhatIsThereNow) {
  Store stale(shared);
  const SweepPlan more = plan_of("[grid]\nseed = '100:103'\n");
  RunOptions options = log.options();
  options.stop = once([] { return true; },
                      [&] {
                        Store other(shared);
                        for (const PlannedTrial& t : more.trials) other.add(sample_record(t));
                        other.fold(more, false);
                      });
  options.worker = scenario("sleeps", "200", log.file);
  EXPECT_EQ(run(core_only(), plan, stale, options).exit_code, 0);
  EXPECT_EQ(contents(shared).size(), 15u);
  EXPECT_EQ(Store(shared).trials().size(), 15u);
}

TEST_F(RunnerShared, DoesNotFoldWhatAnotherMayReplace) {
  const SweepPlan more = plan_of("[grid]\nseed = '100:102'\n");
  Claims others(shared);
  {
    Store other(shared);
    for (const PlannedTrial& t : more.trials) {
      TrialRecord failed = sample_record(t);
      failed.status = Status::failed;
      other.add(failed);
    }
    others.take(more.ids()[0]);
  }
  EXPECT_EQ(go(log.options()).exit_code, 0);
  EXPECT_FALSE(contents(shared).contains(more.ids()[0]));
  EXPECT_TRUE(contents(shared).contains(more.ids()[1]));
  EXPECT_EQ(store().find(more.ids()[0])->status, Status::failed);
  EXPECT_EQ(store().trials().size(), 14u);
}

TEST_F(RunnerShared, DoesNotRunWhatItFolds) {
  plan = plan_of("[grid]\nseed = '0:300'\n");
  {
    Store before(shared);
    for (const PlannedTrial& t : plan.trials) {
      TrialRecord failed = sample_record(t);
      failed.status = Status::failed;
      before.add(failed);
    }
  }
  const RunResult r = go(log.options(2));  // folds at once
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.counts.done, 300);
  expect_each_ran_once();
  expect_as_undisturbed();
}

/// A folding that is killed as it writes leaves what it has written so far.
TEST_F(RunnerShared, AStoppedFoldingLeavesNothing) {
  Store waits = store();
  for (const PlannedTrial& t : plan.trials) waits.add(sample_record(t));
  const std::filesystem::path file = waits.trial_path(plan.ids()[0]);
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);  // in which nobody will write
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  const auto left = shared / fmt::format("results.h5.{}.tmp", dead);
  write_quickly(left, "half of it");
  Claims claims(shared);
  const RunOptions options = log.options();
  Account account(core_only(), plan, waits, options, claims);
  int asked = 0;
  account.fold_at_end([&] { return ++asked > 2; });
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(FoldLock(shared).take());
}

/// Sweeps of one folder of which, or of whose workers, one is killed now and then and started anew.
struct RunnerSharedStorm : RunnerShared {
  std::mt19937 random{11};
  std::string axes;
  std::string milliseconds = "10";
  int workers = 1;
  std::vector<Supervisor> all;
  int kills = 0;
  std::size_t most_lost = 0;  ///< trials that were running when they were killed

  void begin(int processes, const std::string& the_axes) {
    axes = the_axes, plan = plan_of(axes);
    for (int i = 0; i < processes; ++i) all.emplace_back(shared, axes, logging(milliseconds), workers);
  }
  void kill_a_supervisor() {
    Supervisor& one = all[random() % all.size()];
    if (one.has_ended()) return;
    ++kills, most_lost += static_cast<std::size_t>(workers);
    one.kill();
    one = Supervisor(shared, axes, logging(milliseconds), workers);
  }
  void kill_a_worker() {
    std::vector<pid_t> alive;
    for (const auto& [id, attempt] : read_attempts(shared))
      if (is_alive(attempt)) alive.push_back(attempt.process);
    if (alive.empty()) return;
    ++kills, ++most_lost;
    kill(alive[random() % alive.size()], SIGKILL);
  }
  bool is_over() const {
    return std::ranges::all_of(all, [](const Supervisor& s) { return s.has_ended(); });
  }
  void end() {
    for (Supervisor& s : all) {
      const int code = s.wait();
      EXPECT_TRUE(code == 0 || code == 1) << code;
    }
    all.clear();
    for (int i = 0; i < 3; ++i)  // what was killed twice has failed
      if (Supervisor(shared, axes, logging(), workers).wait() == 0) break;
    const std::vector<std::string> runs = log.ids();
    EXPECT_EQ(std::set(runs.begin(), runs.end()).size(), plan.trials.size());
    EXPECT_LE(runs.size(), plan.trials.size() + most_lost) << "nothing finished runs again";
    EXPECT_EQ(count(plan, Store(shared)),
              (Counts{.planned = std::ssize(plan.trials), .done = std::ssize(plan.trials)}));
    expect_as_undisturbed();
  }
};

TEST_F(RunnerSharedStorm, OfFourOfWhichOneIsKilledNowAndThen) {
  begin(4, "[grid]\nseed = '0:200'\n");
  while (!is_over() && kills < 10) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 150));
    kill_a_supervisor();
  }
  EXPECT_GE(kills, 3);
  end();
}

using RunnerSharedStormLong = RunnerSharedStorm;
TEST_F(RunnerSharedStormLong, OfTwoThousandTrials) {
  const auto start = Clock::now();
  milliseconds = "300", workers = 2;
  begin(4, "[grid]\nseed = '0:2000'\n");
  constexpr int most =
      150;  // where reading or folding 2,000 files takes longer than a sweep lives, none would end
  while (!is_over() && kills < most) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 + random() % 2000));
    if (is_over()) break;
    random() % 2 == 0 ? kill_a_supervisor() : kill_a_worker();
  }
  EXPECT_GE(kills, 20);
  end();
  RecordProperty("kills", kills);
  fmt::print("{} kills, {} runs, {:.0f} s\n", kills, log.count(),
             std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace
}  // namespace headlab::test
