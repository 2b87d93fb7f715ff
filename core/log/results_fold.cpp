#include <fmt/format.h>

#include "core/log/results_collection.hpp"
#include "core/log/results_file.hpp"

namespace headlab {

Folded fold(const std::filesystem::path& path, const std::vector<std::filesystem::path>& trial_files,
            const std::string& specification, const std::vector<std::string>& plan,
            const std::map<std::string, double>& seconds_writing) {
  Collection all = reading(path, [&] {
    return Collection(std::filesystem::exists(path) ? read_sealed(path, results_format) : hdf5::File(), path);
  });
  Folded folded;
  for (const auto& file : trial_files) try {
      TrialRecord trial = read_trial(file);
      if (trial.id != file.stem())
        throw DamagedError(fmt::format("{}: is trial {}", file.native(), trial.id));
      if (const auto took = seconds_writing.find(trial.id); took != seconds_writing.end())
        trial.provenance["seconds_writing"] = took->second;
      all.add(trial, file);
      folded.safe.push_back(file);
    } catch (const std::runtime_error& e) {  // DamagedError, or the system's if it cannot be read
      folded.damaged.emplace_back(e.what());
    }
  write_sealed(path, results_format, std::move(all).whole(plan, specification));
  return folded;
}

}  // namespace headlab
