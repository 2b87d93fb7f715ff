#pragma once
// Trials of several files on their way into one results.h5.
#include <unordered_map>

#include "core/log/results_stack.hpp"

namespace headlab {

/// Done or diverged: nothing replaces it.
constexpr bool finished(Status s) { return s == Status::done || s == Status::diverged; }

/// The first variable or attribute in which two records of a trial differ, provenance and seconds aside; ""
/// if there is none.
std::string first_difference(TrialRecord a, TrialRecord b);

/// A later record of a trial replaces a failed or interrupted one; a finished one stays.
class Collection {
 public:
  /// `results` may be empty; `from` is where it was read.
  explicit Collection(hdf5::File results, const std::filesystem::path& from);

  /// Whether it is new or replaces another. DamagedError if another finished record of it with other results
  /// is there, or if it cannot stand in one file with the others.
  bool add(const TrialRecord& trial, const std::filesystem::path& from);

  const std::unordered_map<std::string, std::size_t>& ids() const { return index_; }
  Status status(const std::string& id) const { return trials_[index_.at(id)].status; }

  /// results.h5: the rows of the plan in its order, then the others in that in which they came.
  /// std::logic_error if it would not give a trial back.
  hdf5::File whole(const std::vector<std::string>& plan, const std::string& specification) &&;

 private:
  using Kind = std::pair<std::size_t, std::vector<std::string>>;  // type of the data, dimensions
  struct Trial {
    std::string id;
    Status status;
    Place place;
    std::size_t hash;  ///< of its record
    std::filesystem::path from;
  };

  static Kind kind(const hdf5::Variable& v) { return {v.data.index(), v.dimensions}; }
  void learn(const hdf5::File& part);
  const hdf5::Variable* misfit(const hdf5::File& part) const;
  void insert(const TrialRecord& trial, Place place, const std::filesystem::path& from);
  void pack();
  void check(const hdf5::File& file) const;
  void put_plan(hdf5::File& file, std::size_t planned, std::ptrdiff_t there) const;

  std::unordered_map<std::string, Kind> kinds_;  ///< by name of the variable
  std::vector<hdf5::File> parts_;                ///< the first is what it was made with
  std::size_t packed_ = 1;                       ///< parts from here on have one row each
  std::vector<Trial> trials_;
  std::unordered_map<std::string, std::size_t> index_;  ///< of trials_, by id
};

}  // namespace headlab
