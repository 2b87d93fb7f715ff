#include "experiments/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/config/resolve.hpp"

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

/// Of a column that is no key's.
ColumnKind kind_of(const std::string& name, const Value& value) {
  if (name == "id") return {ColumnKind::id};
  if (name == "status") return {ColumnKind::word, statuses()};
  if (std::holds_alternative<bool>(value)) return {ColumnKind::word, {"false", "true"}};
  if (std::holds_alternative<std::string>(value)) return {ColumnKind::text};
  return {std::holds_alternative<Reals>(value) ? ColumnKind::list : ColumnKind::number};
}
ColumnKind kind_of(const Key& key, const Config& config) {
  return key.words.empty() ? kind_of(key.name, key.get(config)) : ColumnKind{ColumnKind::word, key.words};
}

}  // namespace

Columns columns(const TrialRecord& trial) { return std::move(Collector(trial).columns); }

ColumnNames::ColumnNames(const Keys& keys, const std::vector<Columns>& trials) {
  const Config config = resolve(keys, {}).config;
  for (const Key& key : keys) {
    names_[key.name] = key.name;
    for (const std::string& alias : key.aliases) names_[alias] = key.name;
    kinds_[key.name] = kind_of(key, config);
  }
  const auto add = [&](const std::string& name, const Value& value) {
    names_[name] = name;
    kinds_.try_emplace(name, kind_of(name, value));
  };
  for (const char* always : {"id", "status", "message"}) add(always, std::string());
  for (const Columns& trial : trials)
    for (const auto& [name, value] : trial) add(name, value);
}

std::string ColumnNames::operator()(std::string_view name) const {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  std::vector<std::string_view> all;
  for (const auto& [other, full] : names_) all.push_back(other);
  throw ConfigError(fmt::format("{}: not a column{}", visible(name), hint(name, all)));
}

std::string shown(const Columns& trial, const std::string& column) {
  const auto found = trial.find(column);
  if (found == trial.end()) return "";
  const auto* real = std::get_if<double>(&found->second);
  return real ? fmt::format("{:.4g}", *real) : text(found->second);
}

}  // namespace headlab
