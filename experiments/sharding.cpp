#include "experiments/sharding.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "experiments/console.hpp"
#include "experiments/plan_file.hpp"

namespace headlab {
namespace {

std::string cuts_text(const std::set<std::int64_t>& cuts) { return fmt::format("{}", fmt::join(cuts, ", ")); }

void note_other_cuts(const std::filesystem::path& folder, const Shard& shard) {
  std::set<std::int64_t> cuts;
  for (const ShardFolder& other : shard_folders(folder)) cuts.insert(other.shard.of);
  cuts.erase(shard.of);
  if (!cuts.empty())
    console::notes(
        {fmt::format("{}: there are shards of {}, too: trials that one of them has, or will have, "
                     "are trained again unless they are merged first",
                     (folder / "shards").native(), cuts_text(cuts))});
}

}  // namespace

std::optional<Shard> shard_of(CommandLine& line) {
  if (!line.has("shard")) return {};
  const auto shard = read_shard(line.text("shard"));
  if (!shard)
    line.keys.faults.push_back(fmt::format("--shard: {} is not i/n with 0 <= i < n <= {}",
                                           visible(line.text("shard")), most_shards));
  return shard;
}

SweepPlan narrow(const Shard& shard, SweepPlan& plan, std::filesystem::path& folder) {
  note_other_cuts(folder, shard);
  const Store merged(folder);
  require_scheme(merged);
  folder = shard_folder(folder, shard);
  SweepPlan part = narrowed(plan, shard, merged, Store(folder));
  std::swap(plan, part);
  return part;
}

void note_shards(const SweepPlan& plan, const std::filesystem::path& folder) {
  const auto shards = shard_folders(folder);
  if (shards.empty()) return;
  const Store merged(folder);
  std::set<std::string> twice;
  for (const ShardFolder& shard : shards) {
    const Store store(shard.path);
    for (const PlannedTrial& t : plan.trials)
      if (const Stored* known = store.find(t.id);
          known != nullptr && finished(known->status) && merged.find(t.id) == nullptr)
        twice.insert(t.id);
  }
  if (!twice.empty())
    console::notes(
        {fmt::format("{}: shards there have {} trials that this runs again: `headlab merge {}` "
                     "first takes them over",
                     folder.native(), grouped(std::ssize(twice)), folder.native())});
}

std::optional<SweepPlan> plan_of_shards(const std::filesystem::path& folder) {
  std::optional<SweepPlan> largest;
  bool differ = false;
  for (const ShardFolder& shard : shard_folders(folder)) {
    auto plan = read_plan(shard.path, sweep_plan_name);
    if (!plan) continue;
    differ = differ || (largest && plan->ids() != largest->ids());
    if (!largest || plan->trials.size() > largest->trials.size()) largest = std::move(plan);
  }
  if (differ)
    console::notes(
        {fmt::format("{}: shards there were planned for different sweeps; that with the most "
                     "trials, {}, counts",
                     folder.native(), grouped(std::ssize(largest->trials)))});
  return largest;
}

}  // namespace headlab
