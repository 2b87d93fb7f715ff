#include "core/log/results_file.hpp"

#include <algorithm>
#include <set>

#include "core/log/record_file.hpp"
#include "core/log/results_row.hpp"

namespace headlab {
namespace {

std::string specification(const hdf5::File& file) {
  return std::get<std::string>(file.attributes.at("specification"));
}
hdf5::Values counts(const hdf5::File& file) {
  constexpr std::string_view prefix = "count.";
  hdf5::Values counts;
  for (const auto& [key, value] : file.attributes)
    if (key.starts_with(prefix)) counts[key.substr(prefix.size())] = value;
  return counts;
}

}  // namespace

Results read_results(const std::filesystem::path& from) {
  return reading(from, [&] {
    const hdf5::File file = read_sealed(from, results_format);
    const Rows rows(file);
    Results results{specification(file), counts(file), {}};
    for (std::size_t i = 0; i < rows.size(); ++i) results.trials.push_back(rows[i]);
    return results;
  });
}

std::optional<TrialRecord> find_trial(const std::filesystem::path& from, std::string_view id) {
  const RecordFile file = open_results(from, 1);
  const std::vector<std::string> ids = file.ids();
  const auto found = std::ranges::find(ids, id);
  if (found == ids.end()) return {};
  return file.record(static_cast<std::size_t>(found - ids.begin()));
}

Summaries read_summaries(const std::filesystem::path& from, const std::vector<std::string>& columns) {
  return reading(from, [&] {
    std::set<std::string, std::less<>> names(columns.begin(), columns.end());
    names.insert({"id", "status"});
    const hdf5::File file =
        read_sealed(from, results_format, [&](std::string_view v) { return names.contains(v); });
    const Rows rows(file);
    Summaries all{specification(file), counts(file), {}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Summary& s = all.trials.emplace_back(rows.text("id", i), status_of(rows.text("status", i)));
      for (const std::string& name : columns)
        if (const hdf5::Variable* v = rows.find(name))
          if (hdf5::Value value = Rows::cell(*v, i); !absent(value)) s.values[name] = std::move(value);
    }
    return all;
  });
}

}  // namespace headlab
