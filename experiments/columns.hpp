#pragma once
// What is known of a trial in single values, and what asks for it: headlab list --where --columns.
#include "core/config/keys.hpp"
#include "core/log/trial_file.hpp"

namespace headlab {

/// By name: id, status, message, keys of the configuration, facts, provenance.NAME, test_TABLE, last_TABLE
/// and best_TABLE over epochs. Tables over relative lengths give TABLE@0.5 for each, and TABLE for length 1
/// or, if there is none, the first. What has no value is not there.
using Columns = std::map<std::string, Value>;
Columns columns(const TrialRecord& trial);

/// What can stand in a column.
struct ColumnKind {
  enum Type { number, word, list, id, text } type = text;
  std::vector<std::string> words{};  ///< all that there are, of type `word`
};

/// Names that are accepted: those of the trials' columns and of keys, whose aliases stand for them.
class ColumnNames {
 public:
  ColumnNames(const Keys& keys, const std::vector<Columns>& trials);
  /// The full name. ConfigError, with the nearest name, if there is none.
  std::string operator()(std::string_view name) const;

  /// Of a full name.
  const ColumnKind& kind(const std::string& name) const { return kinds_.at(name); }

 private:
  std::map<std::string, std::string, std::less<>> names_;
  std::map<std::string, ColumnKind> kinds_;
};

/// As in listings: reals to 4 significant digits; "" where there is no value.
std::string shown(const Columns& trial, const std::string& column);

}  // namespace headlab
