#pragma once
#include <nlohmann/json.hpp>

#include "sweeps/forecast.hpp"

namespace headlab {

/// What dry_run_text and trial_lines tell: {"name", "title", "points", ..., the counts, the forecast,
/// "trials":
/// [{"id", "status", "axes": {KEY: VALUE}}]}; status is "missing" where there is none.
nlohmann::ordered_json dry_run_json(const Keys& keys, const SweepPlan& plan, const Store& store,
                                    const RunOptions& options, const Forecast& forecast);

}  // namespace headlab
