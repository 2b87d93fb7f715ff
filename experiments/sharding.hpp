#pragma once
// What sweep, status and merge have to do with the shards of a sweep.
#include "experiments/command.hpp"
#include "sweeps/shard.hpp"

namespace headlab {

/// What `--shard i/n` says; nothing if it is not given, or is at fault: that is added to the line's faults.
std::optional<Shard> shard_of(CommandLine& line);

/// Narrows a sweep's plan and folder to a shard; notes shards there that are cut otherwise. Returns the plan
/// of the whole sweep.
SweepPlan narrow(const Shard& shard, SweepPlan& plan, std::filesystem::path& folder);

/// Notes trials in DIR/shards that a sweep of the whole folder would train again.
void note_shards(const SweepPlan& plan, const std::filesystem::path& folder);

/// Beside a shard's plan.json, that of the whole sweep.
inline constexpr const char* sweep_plan_name = "sweep.json";
/// The plan of the whole sweep as its shards know it; if they do not agree, that with the most trials, which
/// is noted. DamagedError if one is no plan.
std::optional<SweepPlan> plan_of_shards(const std::filesystem::path& folder);

}  // namespace headlab
