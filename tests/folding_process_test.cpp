#include "sweeps/folding_process.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sweeps/claims.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;

struct FoldingProcessTest : RunnerTest {
  FoldingProcess folding_of(const std::filesystem::path& file, int lock) const {
    return {scenario("fine"),
            {getpid(), folder.path, {}},
            {folder.path / "results.h5", {file}, plan.specification.text, plan.ids(), {}},
            lock};
  }
};

TEST_F(FoldingProcessTest, HoldsTheLockUntilItEnds) {
  const auto pipe = folder.path / "0000000000000001.h5";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);  // it waits in vain for somebody to write there
  auto lock = std::make_unique<FoldLock>(folder.path);
  ASSERT_TRUE(lock->take());
  {
    FoldingProcess folds = folding_of(pipe, lock->descriptor());
    lock.reset();  // as if this process had died
    EXPECT_FALSE(FoldLock(folder.path).take());
    EXPECT_FALSE(folds.wait(0ms));
  }
  EXPECT_TRUE(FoldLock(folder.path).take());
}

TEST_F(FoldingProcessTest, TellsWhatItCannotDo) {
  const auto trial = headlab::trial_path(folder.path, plan.ids()[0]);
  write_trial(trial, sample_record(plan.trials[0]));
  std::filesystem::create_directories(folder.path / "results.h5" / "inner");  // where there should be a file
  const FoldLock lock(folder.path);
  FoldingProcess folds = folding_of(trial, lock.descriptor());
  const auto wait = [&] {
    while (!folds.wait(100ms)) continue;
  };
  EXPECT_ANY_THROW(wait());
  EXPECT_TRUE(std::filesystem::exists(trial));
}

}  // namespace
}  // namespace headlab::test
