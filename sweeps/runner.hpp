#pragma once
#include <limits>
#include <optional>

#include "sweeps/pace.hpp"
#include "sweeps/progress.hpp"
#include "sweeps/store.hpp"

namespace headlab {

struct RunOptions {
  std::vector<std::string> worker;            ///< words with which this program runs `serve` (worker.hpp)
  std::function<double(const Config&)> cost;  ///< operations of a trial; only ratios count
  std::function<double(const Config&)> memory = [](const Config& /*any*/) { return 0.; };  ///< bytes it fills
  int workers = 1;                              ///< trials side by side, each in a process of one thread
  std::optional<std::set<std::string>> only{};  ///< ids; none: all
  bool keep_trial_files = false;
  hdf5::Values provenance{};  ///< what all trials of this sweep share
  /// Asked ten times a second; once true, no new trial begins, and running ones end soon.
  std::function<bool()> stop = [] { return false; };
  double grace = 8;  ///< seconds that trials have to end in when they are asked to

  double trial_timeout = std::numeric_limits<double>::infinity();  ///< seconds
  std::int64_t max_failures = std::numeric_limits<std::int64_t>::max();
  /// Seconds: a trial that would take longer is not started; at 0 the sweep stops.
  std::function<double()> time_left = [] { return std::numeric_limits<double>::infinity(); };
  Pace pace{cost};  ///< of trials, in those seconds
  /// Of a trial, that is still to be run: less than 1 if it goes on from a checkpoint.
  std::function<double(const PlannedTrial&)> share_left = [](const PlannedTrial& /*any*/) { return 1.; };

  Progress* progress = nullptr;
};

struct RunResult {
  Counts counts;
  std::int64_t ran = 0;             ///< trials trained now
  std::vector<std::string> faults;  ///< a line each, for stderr
  int exit_code = 0;                ///< 3 damaged, 75 disk full or stopped, 1 some failed, 0 everything done
};

/// So many new failures in a row stop a sweep: what all trials share must be at fault.
constexpr int most_failures_in_a_row = 10;

/// Runs what the store lacks: missing and interrupted trials, then those that failed before; seed by seed,
/// the longest first; at last, one by one, those whose worker process has crashed, which fail when it crashes
/// again. Worker processes train and write trials' own files. Other processes may do the same with the same
/// folder, for this plan or others: each trial is run by one of them, and the end of what they run is waited
/// for; if they die, their trials are run here. A full disk ends the sweep (75); any other
/// failure to store is thrown, after what still ran has been stored as far as possible.
RunResult run(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options);

}  // namespace headlab
