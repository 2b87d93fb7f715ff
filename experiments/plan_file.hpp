#pragma once
// DIR/plan.json: what the last sweep in a folder was to run, so that others know what is missing.
#include <optional>

#include "sweeps/store.hpp"

namespace headlab {

void write_plan(const std::filesystem::path& folder, const SweepPlan& plan, const std::string& command_line);

/// Name, title and ids; nothing if there is no such file. DamagedError if it is no plan.
std::optional<SweepPlan> read_plan(const std::filesystem::path& folder);

}  // namespace headlab
