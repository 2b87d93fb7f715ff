#pragma once
// What the trials of a running sweep end in.
#include "sweeps/claims.hpp"
#include "sweeps/folding_process.hpp"
#include "sweeps/runner.hpp"

namespace headlab {

/// Keeps the store, the counts and what is to be told of them in step. Trials are positions in plan.trials.
class Account {
 public:
  /// Arguments outlive it.
  Account(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options, Claims& claims);

  const Tally& tally() const { return tally_; }

  /// A worker has written the trial's file; throws what kept it from doing so.
  void enter(std::size_t trial, const Report& report);
  /// Whether a worker that died has written the trial's file; if so it is entered.
  bool enter_if_finished(std::size_t trial);
  /// Another process has ended the trial.
  void enter_others(std::size_t trial);
  std::int64_t by_others() const { return by_others_; }
  /// Writes the file of a trial that failed. `start`: timestamp.
  void enter_failed(std::size_t trial, const std::string& message, const std::string& start);

  /// --max-failures, or too many in a row: why no further trial is to run.
  const std::optional<std::string>& too_many_failures() const { return too_many_; }

  /// Begins to fold in a process of its own, unless another process folds, or looks whether it has ended.
  void fold_if_crowded();
  bool is_folding() const { return folding_.has_value(); }
  /// Whether the file of an unfinished trial is being folded, so that nobody may write it.
  bool is_folding(const std::string& id) const;
  /// Waits until all is folded, here or by another process, or gives up once `stop` says so.
  void fold_at_end(const std::function<bool()>& stop);
  /// Gives up what is being folded.
  void stop_folding();
  /// Finished trials that have gone since.
  std::int64_t lost() const { return store_.lost() - lost_before_; }
  /// A line for each kind of failure, damage and loss.
  std::vector<std::string> faults() const;
  /// Whether a wanted trial of the plan has failed, now or before.
  bool has_failures() const;

 private:
  bool count_in(std::size_t trial);
  void count_own(std::size_t trial, Status before);
  void count_failures(Status now, Status before);
  std::int64_t* counter(Status status);
  bool begin_folding(const std::function<bool()>& is_wanted);
  std::set<std::string> busy();
  void end_folding(std::chrono::milliseconds patience);
  void release_folding();

  const Keys& keys_;
  const SweepPlan& plan_;
  Store& store_;
  const RunOptions& options_;
  Claims& claims_;
  FoldLock lock_;
  Tally tally_;
  std::vector<Status> counted_;  ///< what each trial counts as
  std::int64_t lost_before_ = store_.lost();
  std::int64_t by_others_ = 0, failed_ = 0, failed_in_a_row_ = 0;
  std::optional<std::string> too_many_;
  std::map<std::string, std::vector<std::string>> failures_;  ///< ids by message
  std::map<std::string, double> seconds_writing_;             ///< by id, of trial files that are not folded
  std::optional<FoldingProcess> folding_;
  std::set<std::string> claimed_;  ///< for as long as they are folded
};

}  // namespace headlab
