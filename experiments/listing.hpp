#pragma once
// What `models`, `tasks`, `keys`, `list` and their like have in common.
#include <nlohmann/json.hpp>

#include "experiments/console.hpp"
#include "experiments/options.hpp"

namespace headlab {

struct Listing {
  std::string name;  ///< of its list in JSON
  std::vector<std::vector<std::string>> rows;
  nlohmann::ordered_json json;
};

inline Option json_option() { return {"json", "", "the same as JSON"}; }

/// On standard output as a table, or with --json as {"version": 1, NAME: [...]}: a field that changes its
/// meaning or goes raises the version, a new one does not.
void show(const Listing& listing, const CommandLine& line);

}  // namespace headlab
