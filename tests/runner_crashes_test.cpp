// Trials whose worker process dies, and what becomes of them and of their neighbours.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "sweeps/attempts.hpp"
#include "tests/support/memory_group.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

struct Crash {
  std::string how, message;
};
std::ostream& operator<<(std::ostream& out, const Crash& crash) { return out << crash.how; }
struct RunnerCrash : RunnerTest, testing::WithParamInterface<Crash> {};

TEST_P(RunnerCrash, EndsItsTrialAloneAfterASecondTry) {
  const RunResult r = go(sample_options(scenario("crashes", GetParam().how, log.file), 3));
  EXPECT_EQ(r.counts, (Counts{12, 5, 5, 2, 0, 0}));
  EXPECT_EQ(r.exit_code, 1);
  const std::vector<std::string> ids = log.ids();
  EXPECT_EQ(ids.size(), 14u);
  EXPECT_EQ(std::set(ids.end() - 2, ids.end()), guilty()) << "they come last";
  go(sample_options(), "b");
  auto disturbed = contents(folder.path / "a"), undisturbed = contents(folder.path / "b");
  for (const std::string& id : guilty()) {
    EXPECT_EQ(disturbed.at(id).status, Status::failed);
    EXPECT_EQ(disturbed.at(id).message, "its process crashed twice: " + GetParam().message);
    disturbed.erase(id), undisturbed.erase(id);
  }
  for (const auto& [id, t] : undisturbed)
    EXPECT_TRUE(hdf5::identical(to_file(t), to_file(disturbed.at(id)))) << id;
  EXPECT_FALSE(std::filesystem::exists(folder.path / "a" / "attempts"));
}

INSTANTIATE_TEST_SUITE_P(
    By, RunnerCrash,
    testing::Values(Crash{"segv", "killed by signal 11 (SIGSEGV)"},
                    Crash{"abort", "killed by signal 6 (SIGABRT)"}, Crash{"exit", "exit code 3"},
                    Crash{"kill", "killed by signal 9 (SIGKILL)"},
                    Crash{"terminate",
                          "killed by signal 6 (SIGABRT): terminate called after throwing an instance of "
                          "'headlab::ConfigError';   what():  a fault that nobody catches"}),
    [](const auto& crash) { return crash.param.how; });

using RunnerCrashes = RunnerTest;

TEST_F(RunnerCrashes, OnceAreNoFailure) {
  EXPECT_EQ(go(sample_options(scenario("crashes-once", "kill", signs()), 2)).counts,
            (Counts{12, 6, 6, 0, 0, 0}));
  go(sample_options(), "b");
  expect_same_contents(folder.path / "a", folder.path / "b");
}

TEST_F(RunnerCrashes, AreRememberedWhenTheSweepIsStopped) {
  RunOptions options = sample_options(scenario("crashes", "segv", log.file));
  options.stop = [&] { return log.count() == 12; };  // all have run, the two guilty ones once
  EXPECT_EQ(go(options).exit_code, 75);
  for (const auto& [id, attempt] : read_attempts(folder.path / "a")) {
    EXPECT_TRUE(guilty().contains(id));
    EXPECT_EQ(attempt.crashes, 1);
    EXPECT_EQ(attempt.cause, "killed by signal 11 (SIGSEGV)");
  }
  options = sample_options(scenario("crashes", "segv", log.file));
  EXPECT_EQ(go(options).counts, (Counts{12, 5, 5, 2, 0, 0}));
  EXPECT_EQ(log.count(), 14u) << "each once more";
}

TEST_F(RunnerCrashes, OfASupervisorAreNotTheTrials) {
  const std::string id = plan.ids()[3];
  {
    Attempts left(folder.path / "a");
    const pid_t worker = fork();
    if (worker == 0) pause();
    left.begin(id, worker);
    EXPECT_TRUE(is_alive(read_attempts(folder.path / "a").at(id)));
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }
  EXPECT_EQ(go(sample_options(scenario("crashes-once", "kill", signs()))).counts.failed, 0);
  EXPECT_TRUE(read_attempts(folder.path / "a").empty());
}

TEST_F(RunnerCrashes, AfterTheFileIsWrittenChangeNothing) {
  // A worker that writes the file by itself, then dies instead of saying so.
  const RunResult r = go(sample_options(scenario("writes-and-crashes", folder.path / "a"), 2));
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "a" / "attempts"));
  go(sample_options(), "b");
  expect_same_contents(folder.path / "a", folder.path / "b");
}

// Sanitizers take terabytes of addresses.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(RunnerCrashes, OutOfMemoryFailsTheTrialThatTakesIt) {
  const RunResult r = go(sample_options(scenario("eats"), 2));
  EXPECT_EQ(r.counts, (Counts{12, 5, 5, 2, 0, 0}));
  for (const std::string& id : guilty())
    EXPECT_EQ(contents(folder.path / "a").at(id).message, "out of memory (std::bad_alloc)");
}
#endif

TEST_F(RunnerCrashes, ByTheKernelForWantOfMemoryNameTheKill) {
  constexpr std::size_t allowed = 1U << 27U;  // bytes
  const MemoryGroup group(allowed);
  if (!group.exists())
    GTEST_SKIP() << "memory of a control group cannot be limited here: " << group.why_not();
  const RunResult r = go(sample_options(scenario("outgrows", group.path(), std::to_string(allowed)), 2));
  EXPECT_EQ(r.counts, (Counts{12, 5, 5, 2, 0, 0}));
  for (const std::string& id : guilty())
    EXPECT_EQ(contents(folder.path / "a").at(id).message,
              "its process crashed twice: killed by signal 9 (SIGKILL)");
}

TEST_F(RunnerCrashes, AreRetriedAloneSoThatNeighboursDoNotMatter) {
  const RunResult r = go(sample_options(scenario("crashes-beside-others", signs()), 3));
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0})) << (r.faults.empty() ? "" : r.faults[0]);
}

}  // namespace
}  // namespace headlab::test
