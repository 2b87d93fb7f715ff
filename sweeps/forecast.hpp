#pragma once
// What a sweep will take: headlab sweep --dry-run.
#include "sweeps/runner.hpp"

namespace headlab {

struct Forecast {
  Counts counts;
  std::int64_t to_run{};
  double operations{};    ///< of what is to run, from checkpoints on where there are some
  double core_seconds{};  ///< of what is to run
  double seconds{};       ///< with the workers of the options: at least the longest trial
  double disk_bytes{};    ///< that results.h5 grows by
  double memory_bytes{};  ///< of the largest trials side by side
};

/// Share of the speed of a large product that a trial usually reaches, by model.dim: .23 at 8, .62 at 128.
constexpr double usual_share(double dim) { return .7 * dim / (dim + 16); }

/// Seconds of any trial beside its operations: drawing its sets, planning its model, its file.
inline constexpr double usual_overhead = .01;

/// Of each step of training.
inline constexpr double usual_step_overhead = 1e-5;

/// For where only shares count.
inline constexpr double usual_speed = 5e10;

/// `speed`: operations a second of a large product in one thread. Trials are taken to reach usual_share of it
/// or, if trials of the plan are finished, to need as many times longer than that as those together.
Pace pace_of(const SweepPlan& plan, const Store& store, const RunOptions& options, double speed);
Forecast forecast(const SweepPlan& plan, const Store& store, const RunOptions& options, double speed);

/// Some lines: points and trials, what is there, what is to run and takes how long.
std::string dry_run_text(const SweepPlan& plan, const Store& store, const RunOptions& options,
                         const Forecast& forecast);

/// A line for each trial that the options select, in the plan's order: id, status ("missing" if there is
/// none), the axes' keys and values.
std::string trial_lines(const Keys& keys, const SweepPlan& plan, const Store& store,
                        const RunOptions& options);

}  // namespace headlab
