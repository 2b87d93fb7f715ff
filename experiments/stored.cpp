#include "experiments/stored.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "experiments/command.hpp"
#include "experiments/console.hpp"
#include "experiments/plan_file.hpp"
#include "experiments/sharding.hpp"

namespace headlab {

namespace {

bool has_results(const std::filesystem::path& folder) {
  std::error_code unknown;
  const auto is_there = [&](const char* name) {
    return std::filesystem::exists(std::filesystem::symlink_status(folder / name, unknown));
  };
  return is_there("results.h5") || is_there("plan.json") ||
         std::filesystem::is_directory(folder / "trials", unknown) || !shard_folders(folder).empty();
}

/// Whether a shard was started after the last sweep of the whole folder.
bool shards_are_newer(const std::filesystem::path& folder) {
  const auto time = [](const std::filesystem::path& file) {
    std::error_code none;
    const auto written = std::filesystem::last_write_time(file, none);
    return none ? std::filesystem::file_time_type::min() : written;
  };
  return std::ranges::any_of(shard_folders(folder), [&](const ShardFolder& f) {
    return time(f.path / sweep_plan_name) > time(folder / "plan.json");
  });
}

}  // namespace

Store open_store(const std::string& folder) {
  require(has_results(folder), "{}: not a folder with results", visible(folder));
  return Store(folder);
}

ResultsFolder::ResultsFolder(const std::string& folder)
    : store(open_store(folder)), damaged(store.damaged()) {
  try {
    if (shards_are_newer(store.folder())) plan = plan_of_shards(store.folder());
    if (!plan) plan = read_plan(store.folder());
  } catch (const DamagedError& e) {
    damaged.emplace_back(e.what());
  }
  for (const ShardFolder& f : shard_folders(folder)) try {
      shards.emplace_back(f.shard, Store(f.path));
      std::ranges::copy(shards.back().second.damaged(), std::back_inserter(damaged));
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
