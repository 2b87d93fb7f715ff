#include "experiments/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace headlab {
namespace {

using Reals = std::vector<double>;

/// Every n-th value from one on: a table's column.
Reals column(const Reals& table, std::size_t first, std::size_t n) {
  Reals values;
  for (std::size_t i = first; i < table.size(); i += n) values.push_back(table[i]);
  return values;
}

double best_of(const Reals& values, Best best) {
  double found = std::nan("");
  for (const double x : values)
    if (best == Best::most ? !(x <= found) : !(x >= found))
      if (!std::isnan(x)) found = x;
  return found;
}

class Collector {
 public:
  explicit Collector(const TrialRecord& trial) : trial_(trial) {
    put("id", trial.id);
    put("status", to_string(trial.status));
    put("message", trial.message);
    put(trial.config, "");
    put(trial.facts, "");
    put(trial.provenance, "provenance.");
    for (const Field& field : fields())
      if (const auto* table = std::get_if<Reals History::*>(&field.table)) put(field, trial.*(*table));
  }
  Columns columns;

 private:
  void put(const std::string& name, const hdf5::Value& value) {
    if (!absent(value)) columns[name] = value;
  }
  void put(const hdf5::Values& values, const std::string& prefix) {
    for (const auto& [name, value] : values) put(prefix + name, value);
  }
  void put(const Field& field, const Reals& table) {
    if (field.axes.back() == "epoch") return put(field, table, "");
    const Reals& lengths = trial_.relative_length;
    const auto first = std::ranges::find(lengths, 1.);
    const std::size_t usual = first == lengths.end() ? 0 : static_cast<std::size_t>(first - lengths.begin());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const Reals values = column(table, i, lengths.size());
      put(field, values, "@" + number(lengths[i]));
      if (i == usual) put(field, values, "");
    }
  }
  void put(const Field& field, const Reals& values, const std::string& suffix) {
    if (values.empty()) return;
    if (field.axes.front() != "epoch") return put(field.name + suffix, values.front());
    put("last_" + field.name + suffix, values.back());
    if (field.best != Best::none) put("best_" + field.name + suffix, best_of(values, field.best));
  }

  const TrialRecord& trial_;
};

constexpr std::string_view operators[]{"!=", "<=", ">=", "==", "=", "<", ">"};  // the longer ones first

struct Condition {
  std::string column, value;
  std::string_view compare;
};

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() > 1 && text.front() == text.back() && (text[0] == '"' || text[0] == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Condition condition(std::string_view text, const ColumnNames& names) {
  const auto at = text.find_first_of("!<>=");
  for (const std::string_view op : operators) {
    if (at == text.npos || !text.substr(at).starts_with(op)) continue;
    const std::string_view name = trimmed(text.substr(0, at)), value = trimmed(text.substr(at + op.size()));
    if (!name.empty() && !value.empty()) return {names(name), std::string(unquoted(value)), op};
    break;
  }
  throw ConfigError(
      fmt::format("--where: {} is not COLUMN OP VALUE with OP one of = != < <= > >=", trimmed(text)));
}

template <class T>
bool holds(const T& a, std::string_view op, const T& b) {
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  return a == b;
}

bool holds(const Columns& trial, const Condition& c) {
  const auto found = trial.find(c.column);
  if (found == trial.end()) return c.compare == "!=";
  const std::string given = text(found->second);
  const auto a = read_real(given), b = read_real(c.value);
  return a && b ? holds(*a, c.compare, *b) : holds(given, c.compare, c.value);
}

}  // namespace

Columns columns(const TrialRecord& trial) { return std::move(Collector(trial).columns); }

ColumnNames::ColumnNames(const Keys& keys, const std::vector<Columns>& trials) {
  for (const Key& key : keys) {
    names_[key.name] = key.name;
    for (const std::string& alias : key.aliases) names_[alias] = key.name;
  }
  for (const Columns& trial : trials)
    for (const auto& [name, value] : trial) names_[name] = name;
}

std::string ColumnNames::operator()(std::string_view name) const {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  std::vector<std::string_view> all;
  for (const auto& [other, full] : names_) all.push_back(other);
  throw ConfigError(fmt::format("{}: not a column, the nearest is {}", name, nearest(name, all)));
}

std::function<bool(const Columns&)> filter(const std::string& expression, const ColumnNames& names) {
  std::vector<Condition> all;
  constexpr std::string_view joint = " and ";
  const std::string whole = expression + " ";
  for (std::size_t begin = 0, end = 0; end != whole.npos; begin = end + joint.size()) {
    end = whole.find(joint, begin);
    all.push_back(condition(std::string_view(whole).substr(begin, end - begin), names));
  }
  return [all](const Columns& trial) {
    return std::ranges::all_of(all, [&](const Condition& c) { return holds(trial, c); });
  };
}

std::string shown(const Columns& trial, const std::string& column) {
  const auto found = trial.find(column);
  if (found == trial.end()) return "";
  const auto* real = std::get_if<double>(&found->second);
  return real ? fmt::format("{:.4g}", *real) : text(found->second);
}

}  // namespace headlab
