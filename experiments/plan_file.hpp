#pragma once
// DIR/plan.json: what the last sweep in a folder was to run, so that others know what is missing.
#include <nlohmann/json.hpp>
#include <optional>

#include "sweeps/store.hpp"

namespace headlab {

/// {"version": 1, "name", "title", "finding", "budget", "command_line", "specification", "trials": [{"id",
/// "axes": {KEY: VALUE}}]} with the axes that change a trial, in the plan's order.
void write_plan(const Keys& keys, const std::filesystem::path& folder, const SweepPlan& plan,
                const std::string& budget, const std::string& command_line,
                const std::string& name = "plan.json");

/// {KEY: VALUE} of the axes that change the trial.
nlohmann::ordered_json axes_of(const Keys& keys, const SweepPlan& plan, const PlannedTrial& trial);

/// Name, title, text, ids, and the axes' keys as a grid; nothing if there is no such file. DamagedError if it
/// is no plan.
std::optional<SweepPlan> read_plan(const std::filesystem::path& folder,
                                   const std::string& name = "plan.json");

}  // namespace headlab
