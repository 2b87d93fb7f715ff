#pragma once
// What status, list and show have in common.
#include <nlohmann/json.hpp>
#include <optional>

#include "core/config/key.hpp"
#include "sweeps/shard.hpp"

namespace headlab {

/// ConfigError if there is no such folder, or neither results.h5, plan.json nor trials/ in it.
Store open_store(const std::string& folder);

/// A folder with results: what it holds, and what was last planned there, if that is known.
struct ResultsFolder {
  explicit ResultsFolder(const std::string& folder);

  Store store;
  std::optional<SweepPlan> plan{};
  std::vector<std::pair<Shard, Store>> shards;  ///< what is in DIR/shards
  std::vector<std::string> damaged;             ///< a line for each file that is damaged
};

/// Tells what is damaged; the exit code.
int exit_code(const ResultsFolder& results);

nlohmann::ordered_json json_of(const Value& value);
nlohmann::ordered_json json_of(const hdf5::Values& values);

}  // namespace headlab
