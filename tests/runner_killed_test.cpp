// A sweep whose process is killed goes on where it was.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <thread>

#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;
using RunnerKilled = RunnerTest;

/// Slow trials; 12 of them, each 30 ms.
RunOptions slow() {
  return sample_options(
      [](const PlannedTrial& t, const Stop&) {
        std::this_thread::sleep_for(30ms);
        return sample_record(t);
      },
      2);
}

/// Not a test: what the test below starts in a process of its own.
TEST(RunnerProcess, DISABLED_Runs) {
  const char* folder = std::getenv("HEADLAB_TEST_FOLDER");
  ASSERT_NE(folder, nullptr);
  const StoreLock lock(folder);
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
  Store store(killed);
  const StoreLock lock(killed);
  const RunResult r = run(core_only(), plan, store, sample_options(log.run()));
  EXPECT_EQ(log.ids.size(), 12 - kept);
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  go(sample_options(), "b");
  expect_same_contents(killed, folder.path / "b");
}

}  // namespace
}  // namespace headlab::test
