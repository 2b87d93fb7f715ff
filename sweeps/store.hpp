#pragma once
// DIR as a store of trials by id: DIR/results.h5 and, not yet folded into it, DIR/trials/<2 hex>/<id>.h5.
// Specifications are views of it.
#include <array>
#include <map>
#include <set>

#include "core/log/results_collection.hpp"
#include "core/log/results_file.hpp"
#include "sweeps/plan.hpp"

namespace headlab {

/// What is known of a stored trial without reading it again.
struct Stored {
  Status status{};
  std::string message{};
  double seconds{};               ///< that it took, NaN if unknown
  std::int64_t scheme{};          ///< result_scheme
  std::string instruction_set{};  ///< "x86-64-v3", "" if unknown
  std::string end{};              ///< UTC, ISO 8601, "" if unknown
  bool folded = false;            ///< results.h5 holds it
  bool loose = false;             ///< it has a file of its own
};

/// DIR/trials/<2 hex>/<id>.h5
std::filesystem::path trial_path(const std::filesystem::path& folder, const std::string& id);

/// Whether loose files number more than 256 and 5 % of all trials.
constexpr bool is_crowded(std::int64_t loose, std::int64_t all) { return loose > 256 && 20 * loose > all; }

/// Arguments of headlab::fold, see results_file.hpp.
struct Folding {
  std::filesystem::path results;
  std::vector<std::filesystem::path> files;
  std::string specification;
  std::vector<std::string> plan;                  ///< ids
  std::map<std::string, double> seconds_writing;  ///< by id
};

/// Several processes may write: whoever holds the claim of a trial (claims.hpp) its own file, whoever holds
/// the folding lock results.h5; what others write is known after refresh(). All functions in one thread.
class Store {
 public:
  /// Reads what is there; nothing is written, and DIR need not exist. DamagedError if results.h5 is damaged.
  explicit Store(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const std::map<std::string, Stored>& trials() const { return trials_; }
  const Stored* find(const std::string& id) const;
  std::filesystem::path results_path() const { return folder_ / "results.h5"; }
  std::filesystem::path trial_path(const std::string& id) const { return headlab::trial_path(folder_, id); }

  /// A line, with advice, for each trial file that is damaged, in conflict or cannot be read. It is left
  /// alone: its trial is not run before somebody has moved the file away.
  const std::vector<std::string>& damaged() const { return damaged_; }
  bool is_damaged(const std::string& id) const { return damaged_ids_.contains(id); }
  /// The lines of damaged() by the name of the file, which should be the trial's id.
  const std::map<std::string, std::string>& damaged_ids() const { return damaged_ids_; }

  /// std::out_of_range for an id that is not there, DamagedError.
  TrialRecord read(const std::string& id) const;
  /// In the order of results.h5, then loose ones by id.
  std::vector<TrialRecord> read_all() const;

  /// Writes a trial's own file, durably. A full disk: std::system_error, see atomic_file.hpp.
  void add(const TrialRecord& trial);
  /// Remembers a trial whose own file another process has just written.
  void note(const std::string& id, const Stored& known);
  /// What the files hold of a trial now, whoever has written them; nullptr if it is nowhere. Its own file
  /// comes first, since it goes only when results.h5 has the trial.
  const Stored* find_now(const std::string& id);
  /// Learns what other processes have written, folded and removed.
  void refresh();
  /// How many trials had gone at the refreshes so far.
  std::int64_t lost() const { return lost_; }
  bool wants_folding() const { return is_crowded(unfolded_, std::ssize(trials_)); }
  /// Trials with a file of their own that are neither done nor diverged: who runs one again replaces it.
  std::vector<std::string> loose_unfinished() const;
  /// Folds loose files into results.h5 and, unless `keep`, removes them. `seconds_writing`: see
  /// headlab::fold.
  void fold(const SweepPlan& plan, bool keep, const std::map<std::string, double>& seconds_writing = {});
  /// The same in two, for another process to fold in between: what is to be folded, without trials that are
  /// `busy`, since their files may be replaced meanwhile ...
  Folding folding(const SweepPlan& plan, bool keep, const std::map<std::string, double>& seconds_writing = {},
                  const std::set<std::string>& busy = {}) const;
  /// ... and what became of it.
  void note(const Folding& folding, const Folded& folded, const SweepPlan& plan, bool keep);
  /// Whether folding would change nothing: results.h5 holds all trials and is of this plan.
  bool is_folded(const SweepPlan& plan) const;

 private:
  using Stamp =
      std::array<std::int64_t, 5>;  // of a file: device, inode, size, time; zeros if it is not there
  Stamp stamp() const;
  void read_results_file();
  void read_loose_file(const std::filesystem::path& file);
  void put(const std::string& id, const Stored& now);
  void count_unfolded();
  void mark_damaged(const std::string& id, const std::string& line);
  void remember(const SweepPlan& plan);

  std::filesystem::path folder_;
  std::map<std::string, Stored> trials_;
  std::int64_t unfolded_ = 0;  ///< trials that are loose and not folded
  std::int64_t lost_ = 0;
  Stamp stamp_{};                   ///< of results.h5 when it was read
  std::vector<std::string> order_;  ///< of results.h5, which begins with the trials of its specification
  std::string specification_;       ///< of results.h5
  std::int64_t planned_ = 0;        ///< of results.h5
  std::vector<std::string> damaged_;
  std::map<std::string, std::string> damaged_ids_;
};

/// ConfigError, with advice, if the store holds trials that were made under another result_scheme.
void require_scheme(const Store& store);

/// Of a plan's trials: planned = done + diverged + failed + pending.
struct Counts {
  std::int64_t planned{}, done{}, diverged{}, failed{};
  std::int64_t pending{};  ///< missing, interrupted or damaged
  std::int64_t others{};   ///< stored trials that the plan does not have

  bool operator==(const Counts&) const = default;
};
Counts count(const SweepPlan& plan, const std::map<std::string, Stored>& trials);
Counts count(const SweepPlan& plan, const Store& store);

/// "plan 1,000: 400 there (2 failed), 600 new; DIR holds 120 others"
std::string summary(const Counts& counts, const std::filesystem::path& folder);

}  // namespace headlab
