#pragma once
// Which trials of a plan a sweep runs, and in which order.
#include "sweeps/runner.hpp"

namespace headlab {

/// Whether `--only` leaves it in.
bool is_wanted(const RunOptions& options, const std::string& id);

/// Positions in plan.trials of what run() would run, in its order.
std::vector<std::size_t> todo(const SweepPlan& plan, const Store& store, const RunOptions& options);

/// The only one of `ids` that starts with `prefix`. ConfigError for none or several.
std::string full_id(const std::string& prefix, const std::vector<std::string>& ids);

/// What `--only` means: ID,ID (shortened or not), @FILE with such ids, or `failed`. ConfigError with all
/// faults.
std::set<std::string> selected(const std::string& only, const SweepPlan& plan, const Store& store);

}  // namespace headlab
