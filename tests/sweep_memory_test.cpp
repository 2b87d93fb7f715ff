// What --dry-run says of memory, and what workers and folding take.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/child.hpp"

namespace headlab::test {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

struct SweepMemory : testing::Test {
  TemporaryFolder folder;
  Ended run(const std::string& command) const { return shell(command, folder.path); }
};

/// The most that a worker has held once its trial has been checkpointed and has gone on.
TEST_F(SweepMemory, OfAWorkerIsAsPredicted) {
  write_quickly(folder.path / "a.toml",
                "name = 'a'\nbase.task.length = 8\nbase.train.batch = 1\nbase.train.epochs = 100_000\n"
                "base.train.steps_per_epoch = 100\nbase.eval.sequences = 8\nbase.eval.case_sequences = 9\n"
                "base.eval.test_sequences = 8\ngrid.model.dim = [8, 512]\n");
  for (const std::string dim : {"8", "512"}) {
    const std::string sweep = "$HEADLAB sweep a.toml --out run --model.dim " + dim;
    const double predicted =
        nlohmann::json::parse(run(sweep + " -j 1 --dry-run --json").out).at("sweep").at("memory_bytes");
    const Ended ended =
        run(sweep +
            " -j 1 --checkpoint-every 0.01s & p=$!; for i in 1 2; do until ls run/checkpoints/*.h5; do "
            "kill -0 $p || exit 99; sleep .01; done >/dev/null 2>&1; rm run/checkpoints/*.h5; done; "
            "cat /proc/$(pgrep -P $p)/status; kill -KILL $p; wait $p");
    const auto at = ended.out.find("VmHWM:");
    ASSERT_NE(at, ended.out.npos) << ended.out << ended.err;
    const double held = 1024 * std::stod(ended.out.substr(at + 6));
    EXPECT_LT(held, 1.1 * predicted) << dim;
    EXPECT_GT(held, .6 * predicted) << dim;
    std::filesystem::remove_all(folder.path / "run");
  }
}

/// The most that a process of its own has held after such a task.
template <class Task>
double most_held(const TemporaryFolder& folder, const Task& task) {
  const pid_t child = fork();
  if (child == 0) {
    task();
    write_quickly(folder.path / "status", read_bytes("/proc/self/status"));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const std::string text = read_bytes(folder.path / "status");
  return 1024 * std::stod(text.substr(text.find("VmHWM:") + 6));
}

/// Its own copy of the new file aside, and some hundred bytes a trial.
using SweepMemorySlow = SweepMemory;

TEST_F(SweepMemorySlow, OfFoldingIsThatOfAFewRecords) {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> plan;
  std::vector<double> held;
  const auto results = folder.path / "results.h5";
  for (unsigned i = 0; i < 6000; ++i) {
    const TrialRecord t = sample_trial(i);
    plan.push_back(t.id);
    files.push_back(trial_path(folder.path, t));
    write_trial(files.back(), t);
    if (files.size() != 1500 && files.size() != 6000) continue;
    std::filesystem::remove(results);
    held.push_back(most_held(folder, [&] { fold(results, files, "", plan, {}, {.kept = 256}); }) -
                   static_cast<double>(std::filesystem::file_size(results)));
  }
  EXPECT_LT(held[1] - held[0], 4500 * 1000.);
}

#endif

}  // namespace
}  // namespace headlab::test
