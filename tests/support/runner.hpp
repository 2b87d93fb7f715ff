#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "sweeps/attempts.hpp"
#include "sweeps/selection.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {

/// 12 trials, of which the 6 with the greater learning rate diverge.
inline constexpr auto runner_axes =
    "base.train.epochs = 2\n[grid]\nmodel.dim = [8, 32, 16]\nseed = [1, 0]\nlr = [0.1, 0.9]\n";

/// Two of them, by which scenarios go wrong.
inline bool is_guilty(const PlannedTrial& t) { return t.config.model.dim == 16 && t.config.seed == 0; }

/// Whether workers that are on a folder's trials end, which takes them a moment when their supervisor is
/// killed.
inline bool await_no_worker(const std::filesystem::path& folder) {
  const auto runs = [](const auto& attempt) { return is_alive(attempt.second); };
  for (int i = 0; i < 1000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (std::ranges::none_of(read_attempts(folder), runs)) return true;
  return false;
}

/// What workers write down as they run.
struct RunLog {
  std::filesystem::path file;

  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    std::ifstream in(file);
    for (std::string id; in >> id;) all.push_back(id);
    return all;
  }
  std::size_t count() const { return ids().size(); }
  RunOptions options(int workers = 1) const { return sample_options(scenario("logs", file), workers); }
};

struct RunnerTest : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of(runner_axes);
  RunLog log{folder.path / "log"};

  RunResult go(const RunOptions& options, const std::string& inner = "a") const {
    Store store(folder.path / inner);
    return run(core_only(), plan, store, options);
  }
  Store store(const std::string& inner = "a") const { return Store(folder.path / inner); }
  /// A folder for what workers leave to be seen.
  std::string signs() const {
    std::filesystem::create_directory(folder.path / "signs");
    return folder.path / "signs";
  }
  std::set<std::string> guilty() const {
    std::set<std::string> ids;
    for (const PlannedTrial& t : plan.trials)
      if (is_guilty(t)) ids.insert(t.id);
    return ids;
  }
};

}  // namespace headlab::test
