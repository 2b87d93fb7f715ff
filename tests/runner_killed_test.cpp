// A sweep whose process is killed goes on where it was.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include "sweeps/attempts.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;
using RunnerKilled = RunnerTest;

/// Slow trials; 12 of them, each 30 ms.
RunOptions slow() { return sample_options(scenario("sleeps", "30"), 2); }

/// Not a test: what the test below starts in a process of its own.
TEST(RunnerProcess, DISABLED_Runs) {
  const char* folder = std::getenv("HEADLAB_TEST_FOLDER");
  ASSERT_NE(folder, nullptr);
  Store store(folder);
  run(core_only(), plan_of(runner_axes), store, slow());
}

pid_t start_runner(const std::filesystem::path& folder) {
  std::string variable = "HEADLAB_TEST_FOLDER=" + folder.native(), program = "headlab_tests",
              also = "--gtest_also_run_disabled_tests", filter = "--gtest_filter=RunnerProcess.DISABLED_Runs",
              brief = "--gtest_brief=1";
  char* arguments[] = {program.data(), also.data(), filter.data(), brief.data(), nullptr};
  std::vector<char*> environment{variable.data()};
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  environment.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) != 0) return -1;
  return pid;
}

TEST_F(RunnerKilled, AtAnyMomentGoesOnToTheSameResults) {
  const std::filesystem::path killed = folder.path / "killed";
  std::size_t kept = 0;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = start_runner(killed);
    ASSERT_GT(pid, 0);
    const auto before = Store(killed).trials().size();
    for (int wait = 0; wait < 1000 && Store(killed).trials().size() < before + 2; ++wait)
      std::this_thread::sleep_for(5ms);
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended before";
    const Store store(killed);
    EXPECT_TRUE(store.damaged().empty());
    EXPECT_GE(store.trials().size(), before + 2);
    kept = store.trials().size();
  }
  ASSERT_LT(kept, 12u);
  ASSERT_TRUE(await_no_worker(killed));
  Store store(killed);
  const auto before = store.trials().size();
  EXPECT_GE(before, kept);
  const RunResult r = run(core_only(), plan, store, log.options());
  EXPECT_EQ(log.count(), 12 - before);
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  go(sample_options(), "b");
  expect_same_contents(killed, folder.path / "b");
}

/// Kills supervisors and workers at random moments, of which `seed` decides.
struct RunnerStorm : RunnerTest {
  const std::filesystem::path killed = folder.path / "killed";
  std::mt19937 random{7};

  std::set<std::string> finished_ids() const {
    std::set<std::string> ids;
    const Store store(killed);
    EXPECT_EQ(store.damaged(), std::vector<std::string>{});
    for (const auto& [id, known] : store.trials())
      if (finished(known.status)) {
        EXPECT_EQ(store.read(id).status, known.status);
        ids.insert(id);
      }
    return ids;
  }
  /// Some worker that runs a trial, if there is one.
  pid_t some_worker() {
    std::vector<pid_t> alive;
    for (const auto& [id, attempt] : read_attempts(killed))
      if (is_alive(attempt)) alive.push_back(attempt.process);
    return alive.empty() ? 0 : alive[random() % alive.size()];
  }
  /// A sweep, some of its workers, then itself.
  void blow() {
    const pid_t pid = start_runner(killed);
    ASSERT_GT(pid, 0);
    for (int kills = static_cast<int>(random() % 3); kills >= 0; --kills) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
      if (const pid_t worker = some_worker(); worker > 0 && kills > 0) kill(worker, SIGKILL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    EXPECT_TRUE(await_no_worker(killed));
  }
  void go_on() {
    for (int code = 1; code == 1;) {  // what was killed twice has failed
      Store store(killed);
      code = run(core_only(), plan, store, log.options(2)).exit_code;
      ASSERT_TRUE(code == 0 || code == 1) << code;
    }
  }
  void rage(int blows) {
    for (int i = 0; i < blows; ++i) {
      const std::set<std::string> before = finished_ids();
      blow();
      const std::set<std::string> after = finished_ids();
      EXPECT_TRUE(std::ranges::includes(after, before)) << "nothing finished is lost";
      if (after.size() == plan.trials.size()) std::filesystem::remove_all(killed);
    }
    const std::set<std::string> kept = finished_ids();
    go_on();
    for (const std::string& id : log.ids()) EXPECT_FALSE(kept.contains(id)) << "nothing finished runs again";
    go(sample_options(scenario("fine"), 2), "b");
    expect_same_contents(killed, folder.path / "b");
    EXPECT_EQ(finished_ids().size(), plan.trials.size());
  }
};
using RunnerStormSlow = RunnerStorm;
using RunnerStormLong = RunnerStorm;

TEST_F(RunnerStormSlow, LosesNothing) { rage(5); }
TEST_F(RunnerStormLong, LosesNothing) {
  random.seed(8);
  rage(200);
}

}  // namespace
}  // namespace headlab::test
