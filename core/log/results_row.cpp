#include "core/log/results_row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace headlab {
namespace {

using hdf5::Value;
using hdf5::Values;
using hdf5::Variable;

struct Section {
  Values TrialRecord::* values;
  std::string name, prefix;  ///< of the columns' attribute `column`, and of their names
};
const std::vector<Section>& sections() {
  static const std::vector<Section> all{{&TrialRecord::config, "config", ""},
                                        {&TrialRecord::facts, "facts", ""},
                                        {&TrialRecord::provenance, "provenance", "provenance."}};
  return all;
}

struct Description {
  std::string long_name, units = "1";
};
Description description(const std::string& key) {
  static const std::map<std::string, Description> known{
      {"result_scheme", {"scheme of the numbers that a configuration gives"}},
      {"parameters", {"trained numbers"}},
      {"operations_per_step", {"operations of a training step, a multiply-add being two"}},
      {"query_key_parameters", {"trained numbers of queries, keys, mixing and content bias"}},
      {"key_cache", {"floats a token leaves for later queries to be compared with, all layers"}},
      {"score_operations",
       {"operations of a query's and a key's scores, all layers, a multiply-add being two"}},
      {"chance_accuracy", {"accuracy without information on the sequence, in evaluation"}},
      {"chance_accuracy_training", {"accuracy without information on the sequence, in training"}},
      {"seconds", {"time in training, evaluation and drawing sequences", "s"}},
      {"seconds_training", {"time in training", "s"}},
      {"seconds_evaluation", {"time in evaluation", "s"}},
      {"seconds_data", {"time in drawing sequences", "s"}},
      {"seconds_writing", {"time in writing the trial's file", "s"}}};
  const auto i = known.find(key);
  return i == known.end() ? Description{key} : i->second;
}

std::string task_of(const TrialRecord& t) {
  const auto i = t.config.find("task.name");
  const auto* name = i == t.config.end() ? nullptr : std::get_if<std::string>(&i->second);
  return name ? *name : "unknown";
}
/// Every task has cases of its own: an axis, and tables over it, for each.
std::string in_results(const std::string& axis, const TrialRecord& t) {
  return axis == "case" ? "case_" + task_of(t) : axis;
}
std::string in_results(const Field& f, const TrialRecord& t) {
  return f.axes.back() == "case" ? f.name + "_" + task_of(t) : f.name;
}

// Writing

Variable column(const std::string& name, hdf5::Data data, Description d) {
  return {name, {"trial"}, std::move(data), {{"units", d.units}, {"long_name", d.long_name}}};
}
hdf5::Data stored(const Value& value) {
  return std::visit(
      []<class T>(const T& v) -> hdf5::Data {
        if constexpr (std::is_same_v<T, bool>)
          return std::vector{std::int8_t{v}};
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return std::vector{fmt::format("{}", fmt::join(v, ","))};
        else if constexpr (std::is_same_v<T, std::string>)
          return std::vector{hdf5::readable(v)};
        else
          return std::vector{v};
      },
      value);
}
void put_columns(hdf5::File& row, const TrialRecord& trial, const Section& section) {
  for (const auto& [key, value] : trial.*section.values) {
    if (absent(value)) continue;
    Variable v = column(section.prefix + key, stored(value), description(key));
    v.attributes["column"] = section.name;
    if (std::holds_alternative<std::vector<double>>(value)) v.attributes["list"] = true;
    row.variables.push_back(std::move(v));
  }
}

/// A scale of all trials and, but for `epoch`, which is every trial's first ones, each trial's order of it.
void put_axis(hdf5::File& row, Variable scale) {
  Variable order = column(scale.name + "_order", {}, {"place in the trial's own list"});
  order.dimensions.push_back(scale.name);
  order.counts = true;
  std::vector<std::int32_t> places(hdf5::size(scale.data));
  std::iota(places.begin(), places.end(), 0);
  order.data = std::move(places);
  if (scale.name != "epoch") row.variables.push_back(std::move(order));
  row.variables.push_back(std::move(scale));
}

/// The best and the last epoch of each column of a table (epochs, ...); a NaN is never best.
template <class T>
void put_summaries(hdf5::File& row, const Variable& table, const std::vector<T>& data, std::size_t epochs,
                   std::size_t width, const Field& f) {
  std::vector<T> best(width, hdf5::missing<T>(true)), last = best;
  for (std::size_t i = 0; i < epochs * width; ++i) {
    T& b = best[i % width];
    const T& x = data.at(i);
    if (!(f.best == Best::most ? b >= x : b <= x) && x == x) b = x;
    last[i % width] = x;
  }
  for (auto [name, values] : {std::pair{"best", &best}, {"last", &last}}) {
    Variable v{fmt::format("{}_{}", name, f.name), table.dimensions, std::move(*values), table.attributes};
    v.dimensions.erase(v.dimensions.begin() + 1);
    v.attributes["long_name"] = fmt::format("{} epoch's {}", name, f.long_name);
    row.variables.push_back(std::move(v));
  }
}

void put_table(hdf5::File& row, const TrialRecord& trial, Variable table, const Field& f) {
  table.name = in_results(f, trial);
  for (std::string& axis : table.dimensions) axis = in_results(axis, trial);
  table.dimensions.insert(table.dimensions.begin(), "trial");
  if (f.best != Best::none) {
    const bool by_length = f.axes.size() > 1;
    std::visit(
        [&](const auto& data) {
          put_summaries(row, table, data, trial.step.size(), by_length ? trial.relative_length.size() : 1, f);
        },
        table.data);
  }
  row.variables.push_back(std::move(table));
}

std::vector<double> list(const std::string& text) {
  std::vector<double> v;
  for (const char *p = text.data(), *end = p + text.size(); p < end; ++p)
    p = std::from_chars(p, end, v.emplace_back()).ptr;
  return v;
}

/// Offsets in a row of the results of a trial's table, in its order; axes are (length, places).
std::vector<std::size_t> offsets(const std::vector<std::pair<std::size_t, std::vector<std::size_t>>>& axes) {
  std::vector<std::size_t> all{0};
  for (const auto& [length, places] : axes) {
    std::vector<std::size_t> next;
    next.reserve(all.size() * places.size());
    for (const std::size_t o : all)
      for (const std::size_t p : places) next.push_back(o * length + p);
    all = std::move(next);
  }
  return all;
}

}  // namespace

hdf5::File to_row(const TrialRecord& trial) {
  hdf5::File row, file = to_file(trial);
  const auto put = [&](const std::string& name, hdf5::Data data, const std::string& long_name) {
    row.variables.push_back(column(name, std::move(data), {long_name}));
  };
  put("trial", std::vector<std::int32_t>{0}, "trial, in the plan's order");
  put("id", std::vector{trial.id}, "the configuration's id");
  put("status", std::vector{to_string(trial.status)}, "done, diverged, failed or interrupted");
  put("message", std::vector{hdf5::readable(trial.message)}, "why it is not done");
  put("configuration", std::vector{hdf5::readable(trial.configuration)}, "the configuration as TOML");
  put("epochs", std::vector{static_cast<std::int32_t>(trial.step.size())}, "epochs finished");
  row.variables.back().counts = true;
  for (const Section& section : sections()) put_columns(row, trial, section);
  for (Variable& v : file.variables)
    if (v.is_scale()) {
      v.name = v.dimensions[0] = in_results(v.name, trial);
      put_axis(row, std::move(v));
    } else {
      const auto f = std::ranges::find(fields(), v.name, &Field::name);
      put_table(row, trial, std::move(v), *f);
    }
  return row;
}

std::string shape_key(const TrialRecord& trial) {
  std::string key = task_of(trial);
  const auto end = [&](std::size_t n) { key += fmt::format("\n{}\n", n); };
  for (const Section& section : sections())
    for (const auto& [name, value] : trial.*section.values)
      if (!absent(value)) key += name, end(value.index());
  for (const auto* scale : {&trial.relative_length, &trial.case_length}) {
    key.append(reinterpret_cast<const char*>(scale->data()), scale->size() * sizeof(double));
    end(scale->size());
  }
  for (const std::string& name : trial.case_name) key += name, end(name.size());
  for (const Field& f : fields()) std::visit([&](auto member) { end((trial.*member).size()); }, f.table);
  return key;
}

// Reading

Rows::Rows(const hdf5::File& file) {
  for (const Variable& v : file.variables) {
    by_name_[v.name] = &v;
    if (v.attributes.contains("column")) columns_.push_back(&v);
  }
  if (const Variable* id = find("id")) size_ = hdf5::size(id->data);
}

const Variable* Rows::find(std::string_view name) const {
  const auto i = by_name_.find(name);
  return i == by_name_.end() ? nullptr : i->second;
}

std::vector<std::size_t> Rows::places(const std::string& scale, std::size_t row) const {
  std::vector<std::size_t> places;
  if (find(scale) == nullptr) return places;
  if (scale == "epoch") {
    places.resize(static_cast<std::size_t>(std::max(0, get<std::int32_t>("epochs").at(row))));
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  const auto& order = get<std::int32_t>(scale + "_order");
  const std::size_t length = hdf5::size(find(scale)->data);
  for (std::size_t p = 0; p < length; ++p)
    if (const auto k = order.at(row * length + p); k >= 0) {
      places.resize(std::max(places.size(), std::size_t(k) + 1));
      places[std::size_t(k)] = p;
    }
  return places;
}

Value Rows::cell(const Variable& v, std::size_t row) {
  return std::visit(
      [&]<class T>(const std::vector<T>& data) -> Value {
        const std::size_t rows = v.shape.empty() ? data.size() : v.shape[0], width = data.size() / rows;
        if constexpr (std::is_same_v<T, std::string>) {
          if (v.attributes.contains("list")) return list(data.at(row));
          return data.at(row);
        } else if (v.dimensions.size() > 1) {
          std::vector<double> all;
          for (std::size_t k = 0; k < width; ++k) all.push_back(double(data.at(row * width + k)));
          return all;
        } else if constexpr (std::is_floating_point_v<T>) {
          return double{data.at(row)};
        } else if (data.at(row) == hdf5::missing<T>(v.counts)) {
          return hdf5::missing<std::int64_t>();
        } else if constexpr (std::is_same_v<T, std::int8_t>) {
          return data.at(row) != 0;
        } else {
          return std::int64_t{data.at(row)};
        }
      },
      v.data);
}

template <class T>
void Rows::take_axis(std::vector<T>& own, const std::string& scale, std::size_t row) const {
  for (const std::size_t p : places(scale, row)) own.push_back(get<T>(scale).at(p));
}

template <class T>
void Rows::take_table(std::vector<T>& own, const Field& f, const TrialRecord& trial, std::size_t row) const {
  const Variable* v = find(in_results(f, trial));
  if (v == nullptr) return;
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> axes;
  for (const std::string& axis : f.axes) {
    const std::string scale = in_results(axis, trial);
    axes.emplace_back(hdf5::size(by_name_.at(scale)->data), places(scale, row));
  }
  const auto& data = std::get<std::vector<T>>(v->data);
  const std::size_t width = data.size() / size_;
  for (const std::size_t o : offsets(axes)) own.push_back(data.at(row * width + o));
}

TrialRecord Rows::operator[](std::size_t row) const {
  TrialRecord t;
  t.id = text("id", row);
  t.status = status_of(text("status", row));
  t.message = text("message", row);
  t.configuration = text("configuration", row);
  for (const Variable* v : columns_)
    for (const Section& s : sections())
      if (v->attributes.at("column") == Value(s.name))
        if (Value value = cell(*v, row); !absent(value))
          (t.*s.values)[v->name.substr(s.prefix.size())] = std::move(value);
  take_axis(t.relative_length, "relative_length", row);
  take_axis(t.case_length, "case_length", row);
  take_axis(t.case_name, in_results("case", t), row);
  for (const Field& f : fields()) std::visit([&](auto member) { take_table(t.*member, f, t, row); }, f.table);
  return t;
}

}  // namespace headlab
