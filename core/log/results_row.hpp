#pragma once
// The schema of results.h5 for one trial: a trial file's content with `trial` as first dimension.
#include <unordered_map>

#include "core/log/trial_file.hpp"

namespace headlab {

inline const Format results_format{"headlab-results", 1};

/// A results file of one row, without attributes of the root.
hdf5::File to_row(const TrialRecord& trial);

/// Equal for records whose rows have the same variables, of the same types and shapes, and the same scales.
std::string shape_key(const TrialRecord& trial);

/// Reads a results file that outlives it. What is missing in the file: std::out_of_range; of another type:
/// std::bad_variant_access; an unknown status: std::invalid_argument.
class Rows {
 public:
  explicit Rows(const hdf5::File& file);

  std::size_t size() const { return size_; }
  const hdf5::Variable* find(std::string_view name) const;
  const std::string& text(std::string_view name, std::size_t row) const {
    return get<std::string>(name).at(row);
  }
  TrialRecord operator[](std::size_t row) const;

  /// What a column, or a table's row as a list, holds; NaN, "", ... if there is no value, see absent().
  static hdf5::Value cell(const hdf5::Variable& column, std::size_t row);

  /// Positions on a scale of all trials of the values that the trial of this row has, in its own order.
  std::vector<std::size_t> places(const std::string& scale, std::size_t row) const;

 private:
  template <class T>
  const std::vector<T>& get(std::string_view name) const {
    return std::get<std::vector<T>>(by_name_.at(name)->data);
  }
  template <class T>
  void take_axis(std::vector<T>& own, const std::string& scale, std::size_t row) const;
  template <class T>
  void take_table(std::vector<T>& own, const Field& f, const TrialRecord& trial, std::size_t row) const;

  std::unordered_map<std::string_view, const hdf5::Variable*> by_name_;
  std::vector<const hdf5::Variable*> columns_;
  std::size_t size_ = 0;
};

}  // namespace headlab
