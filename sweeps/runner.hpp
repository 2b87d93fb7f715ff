#pragma once
#include "sweeps/progress.hpp"
#include "sweeps/store.hpp"

namespace headlab {

/// Asked often by a trial; true: end as `interrupted`.
using Stop = std::function<bool()>;
/// Called in worker threads, several at a time. What it throws ends that trial as `failed` with the message.
using RunTrial = std::function<TrialRecord(const PlannedTrial&, const Stop&)>;

struct RunOptions {
  RunTrial run;
  std::function<double(const Config&)> cost;  ///< operations of a trial; only ratios count
  int workers = 1;                            ///< trials side by side, each in one thread
  std::set<std::string> only{};               ///< ids; empty: all
  bool keep_trial_files = false;
  hdf5::Values provenance{};         ///< what all trials of this process share
  Stop stop = [] { return false; };  ///< asked from outside: no new trial, running ones end soon
  Progress* progress = nullptr;
};

struct RunResult {
  Counts counts;
  std::int64_t ran = 0;             ///< trials trained now
  std::vector<std::string> faults;  ///< a line each, for stderr
  int exit_code = 0;                ///< 3 damaged, 75 disk full or stopped, 1 some failed, 0 all done
};

/// Runs what the store lacks: missing and interrupted trials, then those that failed before; seed by seed,
/// the longest first. Every finished trial is in the store before the next is counted; one thread does all
/// HDF5.
RunResult run(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options);

/// Positions in plan.trials of what run() would run, in its order.
std::vector<std::size_t> todo(const SweepPlan& plan, const Store& store, const RunOptions& options);

/// A shortened id stands for the only one of `ids` that starts with it; `--only`: ID,ID or `failed` or @FILE
/// (one a line). ConfigError for none or several.
std::set<std::string> selected(const std::string& only, const SweepPlan& plan, const Store& store);

/// Processors that this process may use: affinity, cgroup quota (rounded down, at least 1),
/// SLURM_CPUS_PER_TASK; the least of them.
int available_processors();

}  // namespace headlab
