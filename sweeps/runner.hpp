#pragma once
#include <optional>

#include "sweeps/progress.hpp"
#include "sweeps/store.hpp"

namespace headlab {

/// Asked often by a trial; true: end as `interrupted`.
using Stop = std::function<bool()>;
/// Called in worker threads, several at a time. What it throws ends that trial as `failed` with the message.
using RunTrial = std::function<TrialRecord(const PlannedTrial&, const Stop&)>;

/// Trains a trial, which says nothing before its end.
RunTrial silent_training(const Keys& keys);

struct RunOptions {
  RunTrial run;
  std::function<double(const Config&)> cost;  ///< operations of a trial; only ratios count
  std::function<double(const Config&)> memory = [](const Config& /*any*/) { return 0.; };  ///< bytes it fills
  int workers = 1;                              ///< trials side by side, each in one thread
  std::optional<std::set<std::string>> only{};  ///< ids; none: all
  bool keep_trial_files = false;
  hdf5::Values provenance{};  ///< what all trials of this process share
  /// Asked by all threads; once true, no new trial begins, and running ones end soon.
  Stop stop = [] { return false; };
  Progress* progress = nullptr;
};

struct RunResult {
  Counts counts;
  std::int64_t ran = 0;             ///< trials trained now
  std::vector<std::string> faults;  ///< a line each, for stderr
  int exit_code = 0;                ///< 3 damaged, 75 disk full or stopped, 1 some failed, 0 everything done
};

/// Runs what the store lacks: missing and interrupted trials, then those that failed before; seed by seed,
/// the longest first. The calling thread does all HDF5. A full disk ends the sweep (75); any other failure to
/// store is thrown, after what still ran has been stored as far as possible.
RunResult run(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options);

/// Positions in plan.trials of what run() would run, in its order.
std::vector<std::size_t> todo(const SweepPlan& plan, const Store& store, const RunOptions& options);

/// The only one of `ids` that starts with `prefix`. ConfigError for none or several.
std::string full_id(const std::string& prefix, const std::vector<std::string>& ids);

/// What `--only` means: ID,ID (shortened or not), @FILE with such ids, or `failed`. ConfigError with all
/// faults.
std::set<std::string> selected(const std::string& only, const SweepPlan& plan, const Store& store);

}  // namespace headlab
