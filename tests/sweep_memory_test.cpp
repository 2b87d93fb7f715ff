// What --dry-run says of memory, and what workers take.
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

#endif

}  // namespace
}  // namespace headlab::test
