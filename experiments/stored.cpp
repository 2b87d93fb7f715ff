#include "experiments/stored.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "experiments/command.hpp"
#include "experiments/console.hpp"
#include "experiments/plan_file.hpp"

namespace headlab {

namespace {

bool has_results(const std::filesystem::path& folder) {
  std::error_code unknown;
  const auto is_there = [&](const char* name) {
    return std::filesystem::exists(std::filesystem::symlink_status(folder / name, unknown));
  };
  return is_there("results.h5") || is_there("plan.json") ||
         std::filesystem::is_directory(folder / "trials", unknown);
}

}  // namespace

Store open_store(const std::string& folder) {
  require(has_results(folder), "{}: not a folder with results", visible(folder));
  return Store(folder);
}

ResultsFolder::ResultsFolder(const std::string& folder)
    : store(open_store(folder)), damaged(store.damaged()) {
  try {
    plan = read_plan(store.folder());
  } catch (const DamagedError& e) {
    damaged.emplace_back(e.what());
  }
}

int exit_code(const ResultsFolder& results) {
  for (const std::string& line : results.damaged) console::errors(line);
  return results.damaged.empty() ? done : damaged;
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, value);
}

nlohmann::ordered_json json_of(const hdf5::Values& values) {
  auto all = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) all[name] = json_of(value);
  return all;
}

}  // namespace headlab
