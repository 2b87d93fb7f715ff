#pragma once
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/sweep.hpp"

namespace headlab::test {

/// 12 trials, of which the 6 with the greater learning rate diverge.
inline constexpr auto runner_axes =
    "base.train.epochs = 2\n[grid]\nmodel.dim = [8, 32, 16]\nseed = [1, 0]\nlr = [0.1, 0.9]\n";

/// Remembers what it ran, in order.
struct RunLog {
  std::mutex mutex;
  std::vector<std::string> ids;

  void add(const std::string& id) {
    const std::lock_guard lock(mutex);
    ids.push_back(id);
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return ids.size();
  }
  RunTrial run() {
    return [this](const PlannedTrial& t, const Stop&) { return add(t.id), sample_record(t); };
  }
};

struct RunnerTest : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of(runner_axes);
  RunLog log;

  RunResult go(const RunOptions& options, const std::string& inner = "a") const {
    Store store(folder.path / inner);
    return run(core_only(), plan, store, options);
  }
  Store store(const std::string& inner = "a") const { return Store(folder.path / inner); }
};

}  // namespace headlab::test
