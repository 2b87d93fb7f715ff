#pragma once
// A sweep's parts for several hosts: each runs the trials of some ids in a store of its own,
// DIR/shards/i-of-n, and writes nowhere else; merge.hpp folds them.
#include <optional>

#include "sweeps/store.hpp"

namespace headlab {

/// Has the trials whose id, a number of 64 bits, leaves the remainder `number` when divided by `of`.
struct Shard {
  std::int64_t number{}, of = 1;

  bool has(const std::string& id) const;
  std::string name() const;  ///< "0-of-4"
  auto operator<=>(const Shard&) const = default;
};
constexpr std::int64_t most_shards = 10'000;

/// "0/4", or nothing.
std::optional<Shard> read_shard(std::string_view text);

std::filesystem::path shard_folder(const std::filesystem::path& folder, const Shard& shard);

struct ShardFolder {
  Shard shard;
  std::filesystem::path path;
};
/// Those that are in DIR/shards, by number of shards, then in order.
std::vector<ShardFolder> shard_folders(const std::filesystem::path& folder);

/// What the shard runs: of the plan's trials its own without those that only `merged`, the store of the whole
/// sweep, has finished.
SweepPlan narrowed(const SweepPlan& plan, const Shard& shard, const Store& merged, const Store& own);

}  // namespace headlab
