#include <fmt/format.h>

#include "core/log/record_file.hpp"
#include "core/log/results_collection.hpp"
#include "core/log/results_file.hpp"

namespace headlab {

Folded fold(const std::filesystem::path& path, const std::vector<std::filesystem::path>& trial_files,
            const std::string& specification, const std::vector<std::string>& plan,
            const std::map<std::string, double>& seconds_writing, const Bounds& bounds) {
  Collection all(bounds);
  if (std::filesystem::exists(path)) {
    const RecordFile old = open_results(path, bounds.block);
    all.open(path, old.record, true);
    for (std::size_t i = 0; i < old.size; ++i) all.add(old.record(i), i);
  }
  const auto read = [&](const std::filesystem::path& file) {
    TrialRecord trial = read_trial(file);
    if (trial.id != file.stem()) throw DamagedError(fmt::format("{}: is trial {}", file.native(), trial.id));
    if (const auto took = seconds_writing.find(trial.id); took != seconds_writing.end())
      trial.provenance["seconds_writing"] = took->second;
    return trial;
  };
  Folded folded;
  for (const auto& file : trial_files) try {
      all.open(file, [&read, &file](std::size_t) { return read(file); });
      all.add(read(file));
      folded.safe.push_back(file);
    } catch (const std::runtime_error& e) {  // DamagedError, or the system's if it cannot be read
      folded.damaged.emplace_back(e.what());
    }
  all.write(path, plan, specification);
  folded.most_held = all.most_held();
  return folded;
}

}  // namespace headlab
