#pragma once
// What a sweep will take: headlab sweep --dry-run.
#include "sweeps/runner.hpp"

namespace headlab {

struct Forecast {
  Counts counts;
  std::int64_t to_run{};
  double operations{};  ///< of what is to run
  double core_hours{};
  double bytes{};  ///< on disk, of what is to run
};

/// `speed`: operations a second of one thread, of which trials reach what finished ones in the store reached,
/// or else a usual share.
Forecast forecast(const SweepPlan& plan, const Store& store, const RunOptions& options, double speed);

/// Points, trials, what is there, what will run and take. With `ids`, a line a trial: id, status, the
/// values of its axes.
std::string dry_run_text(const Keys& keys, const SweepPlan& plan, const Store& store,
                         const Forecast& forecast, bool ids);

}  // namespace headlab
