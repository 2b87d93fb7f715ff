#pragma once
// What status, list and show have in common.
#include <nlohmann/json.hpp>

#include "core/config/key.hpp"
#include "sweeps/store.hpp"

namespace headlab {

/// ConfigError if there is no such folder.
Store open_store(const std::string& folder);

/// Tells what is damaged; the exit code.
int exit_code(const Store& store);

nlohmann::ordered_json json_of(const Value& value);
nlohmann::ordered_json json_of(const hdf5::Values& values);

}  // namespace headlab
