#include "core/log/trial_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headlab {
namespace {

constexpr std::array names{"done", "diverged", "failed", "interrupted"};  // in the order of Status

template <class T>
hdf5::Variable scale(std::string name, const char* long_name, std::vector<T> values) {
  return {name, {name}, std::move(values), {{"units", "1"}, {"long_name", long_name}}};
}
std::vector<hdf5::Variable> scales(const TrialRecord& trial) {
  std::vector<std::int32_t> epochs(trial.step.size());
  std::iota(epochs.begin(), epochs.end(), 1);
  return {scale("epoch", "epoch, the first is 1", std::move(epochs)),
          scale("relative_length", "length over the task's length", trial.relative_length),
          scale("case_length", "length over the task's length", trial.case_length),
          scale("case", "case", trial.case_name)};
}

/// A table of this many elements; one that the trial does not have holds no value.
template <class T>
hdf5::Variable table(const Field& f, std::vector<T> elements, std::size_t n) {
  if (elements.empty()) elements.assign(n, hdf5::missing<T>(true));
  return {f.name, f.axes, std::move(elements), {{"units", f.units}, {"long_name", f.long_name}}, {}, true};
}

void put(hdf5::Values& to, const std::string& prefix, const hdf5::Values& from) {
  for (const auto& [key, value] : from) {
    if (absent(value)) continue;
    const auto* text = std::get_if<std::string>(&value);
    if (!to.emplace(prefix + key, text ? hdf5::Value(hdf5::readable(*text)) : value).second)
      throw std::invalid_argument(fmt::format("{}: a name that trial files use themselves", key));
  }
}
/// Takes away what starts with the prefix.
hdf5::Values take(hdf5::Values& from, const std::string& prefix) {
  hdf5::Values values;
  for (auto i = from.lower_bound(prefix); i != from.end() && i->first.starts_with(prefix); i = from.erase(i))
    values[i->first.substr(prefix.size())] = std::move(i->second);
  return values;
}
std::string take_text(hdf5::Values& from, const char* key) {
  const auto node = from.extract(key);
  return node ? std::get<std::string>(node.mapped()) : "";
}

template <class T>
void take(std::vector<T>& to, hdf5::File& from, std::string_view name) {
  for (hdf5::Variable& v : from.variables)
    if (v.name == name) to = std::move(std::get<std::vector<T>>(v.data));
}

template <class T>
void take_axis(std::vector<T>& to, hdf5::File& from, const char* name) {
  take(to, from, name);
  std::vector<T> sorted = to;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    throw std::invalid_argument(fmt::format("{} holds a value twice", name));
}

}  // namespace

std::string to_string(Status status) { return names.at(static_cast<std::size_t>(status)); }
std::vector<std::string> statuses() { return {names.begin(), names.end()}; }

Status status_of(std::string_view text) {
  const auto i = std::ranges::find(names, text);
  if (i == names.end()) throw std::invalid_argument(fmt::format("{:?} is not a status", text));
  return static_cast<Status>(i - names.begin());
}

bool absent(const hdf5::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return std::isnan(*real);
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return *integer == hdf5::missing<std::int64_t>();
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  if (const auto* list = std::get_if<std::vector<double>>(&value)) return list->empty();
  return false;
}

const std::vector<Field>& fields() {
  using T = History;
  using enum Best;
  static const std::vector<Field> table{
      {"step", {"epoch"}, &T::step, none, "1", "optimiser steps made"},
      {"sequences_seen", {"epoch"}, &T::sequences_seen, none, "1", "training sequences seen"},
      {"train_loss", {"epoch"}, &T::train_loss, least, "nat", "mean cross-entropy of the epoch's batches"},
      {"train_accuracy", {"epoch"}, &T::train_accuracy, most, "1", "accuracy on the epoch's batches"},
      {"learning_rate", {"epoch"}, &T::learning_rate, none, "1", "learning rate of the last step"},
      {"gradient_norm", {"epoch"}, &T::gradient_norm, none, "1", "global gradient norm before clipping"},
      {"validation_loss",
       {"epoch", "relative_length"},
       &T::validation_loss,
       least,
       "nat",
       "mean cross-entropy on the validation set"},
      {"validation_accuracy",
       {"epoch", "relative_length"},
       &T::validation_accuracy,
       most,
       "1",
       "accuracy on the validation set"},
      {"test_loss", {"relative_length"}, &T::test_loss, none, "nat", "mean cross-entropy on the test set"},
      {"test_accuracy", {"relative_length"}, &T::test_accuracy, none, "1", "accuracy on the test set"},
      {"case_correct", {"epoch", "case_length", "case"}, &T::case_correct, none, "1", "right answers"},
      {"case_total", {"epoch", "case_length", "case"}, &T::case_total, none, "1", "answers"},
  };
  return table;
}

hdf5::File to_file(const TrialRecord& trial) {
  hdf5::File file;
  file.attributes = {{"id", trial.id},
                     {"status", to_string(trial.status)},
                     {"message", hdf5::readable(trial.message)},
                     {"configuration", hdf5::readable(trial.configuration)},
                     {"coordinates", coordinates}};
  put(file.attributes, "", trial.facts);
  put(file.attributes, "config.", trial.config);
  put(file.attributes, "provenance.", trial.provenance);
  file.variables = scales(trial);
  std::map<std::string, std::size_t> lengths;
  for (const hdf5::Variable& v : file.variables) lengths[v.name] = hdf5::size(v.data);
  for (const Field& f : fields()) {
    std::size_t n = 1;
    for (const std::string& axis : f.axes) n *= lengths.at(axis);
    std::visit([&](auto member) { file.variables.push_back(table(f, trial.*member, n)); }, f.table);
  }
  return file;
}

TrialRecord from_file(hdf5::File file) {
  TrialRecord trial;
  trial.id = take_text(file.attributes, "id");
  trial.status = status_of(take_text(file.attributes, "status"));
  trial.message = take_text(file.attributes, "message");
  trial.configuration = take_text(file.attributes, "configuration");
  file.attributes.erase("coordinates");
  trial.config = take(file.attributes, "config.");
  trial.provenance = take(file.attributes, "provenance.");
  trial.facts = std::move(file.attributes);
  take_axis(trial.relative_length, file, "relative_length");
  take_axis(trial.case_length, file, "case_length");
  take_axis(trial.case_name, file, "case");
  for (const Field& f : fields())
    std::visit([&](auto member) { take(trial.*member, file, f.name); }, f.table);
  return trial;
}

void write_trial(const std::filesystem::path& to, const TrialRecord& trial) {
  const hdf5::File file = to_file(trial);
  from_file(file);  // throws what read_trial would
  write_sealed(to, trial_format, file);
}

TrialRecord read_trial(const std::filesystem::path& from) {
  return reading(from, [&] { return from_file(read_sealed(from, trial_format, {}, hdf5::Detail::values)); });
}

}  // namespace headlab
