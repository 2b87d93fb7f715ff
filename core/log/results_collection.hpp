#pragma once
// Trials of several files on their way into one results.h5.
#include <unordered_map>

#include "core/log/results_file.hpp"
#include "core/log/results_stack.hpp"

namespace headlab {

/// Done or diverged: nothing replaces it.
constexpr bool finished(Status s) { return s == Status::done || s == Status::diverged; }

/// The first variable or attribute in which two records of a trial differ, provenance and seconds aside; ""
/// if there is none.
std::string first_difference(TrialRecord a, TrialRecord b);

/// A later record of a trial replaces a failed or interrupted one; a finished one stays. Records are read
/// once when they are added, and once more, but for the first ones, when they are written.
class Collection {
 public:
  using Again = std::function<TrialRecord(std::size_t row)>;

  explicit Collection(const Bounds& bounds = {}) : bounds_(bounds) {}

  /// A file from which records come; `again` reads one of them anew. Those of `many` are not kept, as they
  /// are read quickly, many at once.
  void open(const std::filesystem::path& from, Again again, bool many = false);
  /// The record of this row of the file opened last. Whether it is new or replaces another. DamagedError if
  /// another finished record of it with other results is there, or if it cannot stand in one file with the
  /// others.
  bool add(TrialRecord trial, std::size_t row = 0);

  const std::unordered_map<std::string, std::size_t>& ids() const { return index_; }
  Status status(const std::string& id) const { return trials_[index_.at(id)].status; }
  /// The most records that were in memory at once.
  std::size_t most_held() const { return most_held_; }

  /// Writes results.h5 atomically: the rows of the plan in its order, then the others in that in which they
  /// came. It takes its place only if every byte and every trial reads back as the same; DamagedError if not,
  /// or if a source has changed meanwhile.
  void write(const std::filesystem::path& to, const std::vector<std::string>& plan,
             const std::string& specification);
  /// The same as an image of HDF5 without a seal.
  std::string image(const std::vector<std::string>& plan, const std::string& specification);

 private:
  using Kind = std::pair<std::size_t, std::vector<std::string>>;  // type of the data, dimensions
  struct Source {
    std::filesystem::path path;
    Again again;
    bool many;
  };
  struct Trial {
    std::string id;
    Status status;
    std::size_t source, row, shape;  ///< shape: of shapes_
  };
  /// What a block of rows must read back as.
  struct Written {
    std::size_t hash;
    std::vector<std::size_t> trials;  ///< hashes of their records
  };

  static Kind kind(const hdf5::Variable& v) { return {v.data.index(), v.dimensions}; }
  const hdf5::Variable* misfit(const hdf5::File& part) const;
  std::size_t shape_of(const TrialRecord& trial);
  void hold(std::size_t records);
  TrialRecord again(const Trial& t) const;
  std::size_t sort(const std::vector<std::string>& plan);
  bool is_in_order(std::size_t first, std::size_t last) const;
  std::size_t read_ahead(std::size_t first);
  hdf5::File outline(std::size_t planned, std::size_t there, const std::string& specification) const;
  hdf5::File block(const hdf5::File& outline, std::size_t first, std::size_t there, Written& written);
  std::vector<Written> put(hdf5::RowWriter& writer, const hdf5::File& outline, std::size_t there);
  void check(const std::filesystem::path& file, const hdf5::File& outline,
             const std::vector<Written>& written) const;

  Bounds bounds_;
  std::vector<Source> sources_;
  std::unordered_map<std::string, Kind> kinds_;          ///< by name of the variable
  std::unordered_map<std::string, std::size_t> shapes_;  ///< by shape_key
  std::vector<hdf5::File> examples_;                     ///< a row of each shape
  std::vector<Trial> trials_;
  std::unordered_map<std::string, std::size_t> index_;  ///< of trials_, by id
  std::unordered_map<std::string, TrialRecord> kept_;   ///< by id
  std::size_t most_held_ = 0;
};

}  // namespace headlab
