#pragma once
// DIR as a store of trials by id: DIR/results.h5 and, not yet folded into it, DIR/trials/<2 hex>/<id>.h5.
// Specifications are views of it.
#include <map>
#include <set>

#include "core/log/trial_file.hpp"
#include "sweeps/plan.hpp"

namespace headlab {

/// What is known of a stored trial without reading it again.
struct Stored {
  Status status{};
  std::string message;
  double seconds{};     ///< that it took, NaN if unknown
  bool folded = false;  ///< results.h5 holds it
  bool loose = false;   ///< it has a file of its own
};

/// One process at a time writes; all functions in one thread.
class Store {
 public:
  /// Reads what is there; nothing is written, and DIR need not exist. DamagedError if results.h5 is damaged;
  /// ConfigError, with advice, if a trial was made under another result_scheme.
  explicit Store(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const std::map<std::string, Stored>& trials() const { return trials_; }
  const Stored* find(const std::string& id) const;
  std::filesystem::path trial_path(const std::string& id) const;
  /// A line for each damaged or conflicting file, which is left alone; its trial counts as pending, and is
  /// not run before somebody has moved the file away.
  const std::vector<std::string>& damaged() const { return damaged_; }
  bool is_damaged(const std::string& id) const { return damaged_ids_.contains(id); }

  /// std::out_of_range for an id that is not there.
  TrialRecord read(const std::string& id) const;
  std::vector<TrialRecord> read_all() const;

  /// Writes a trial's own file, durably. A full disk: std::system_error, see atomic_file.hpp.
  void add(const TrialRecord& trial);
  /// Loose files number more than 256 and 5 % of all trials.
  bool wants_folding() const;
  /// Folds loose files into results.h5 and, unless `keep`, removes them.
  void fold(const SweepPlan& plan, bool keep);

 private:
  void read_results();
  void read_loose();

  std::filesystem::path folder_;
  std::map<std::string, Stored> trials_;
  std::vector<std::string> damaged_;
  std::set<std::string> damaged_ids_;
};

/// Held as long as a process writes into DIR; the kernel frees it when the process dies.
class StoreLock {
 public:
  /// Makes DIR; RunError if another process holds the lock.
  explicit StoreLock(const std::filesystem::path& folder);
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  ~StoreLock();

 private:
  int descriptor_;
};

/// Of a plan's trials: planned = done + diverged + failed + pending.
struct Counts {
  std::int64_t planned{}, done{}, diverged{}, failed{};
  std::int64_t pending{};  ///< missing, interrupted or damaged
  std::int64_t others{};   ///< stored trials that the plan does not have
};
Counts count(const SweepPlan& plan, const Store& store);

/// "plan 1,000: 400 there, 600 new; DIR holds 120 others"
std::string summary(const Counts& counts, const std::filesystem::path& folder);

}  // namespace headlab
