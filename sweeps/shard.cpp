#include "sweeps/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace headlab {
namespace {

/// All of the text as a number in [0, most_shards], or nothing.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 0 || n > most_shards) return {};
  return n;
}

std::optional<Shard> parsed(std::string_view text, std::string_view between) {
  const auto at = text.find(between);
  if (at == text.npos) return {};
  const auto i = number(text.substr(0, at)), n = number(text.substr(at + between.size()));
  if (!i || !n || *i >= *n) return {};
  return Shard{*i, *n};
}

}  // namespace

bool Shard::has(const std::string& id) const {
  constexpr int hexadecimal = 16;
  return std::stoull(id, nullptr, hexadecimal) % static_cast<std::uint64_t>(of) ==
         static_cast<std::uint64_t>(number);
}

std::string Shard::name() const { return fmt::format("{}-of-{}", number, of); }

std::optional<Shard> read_shard(std::string_view text) { return parsed(text, "/"); }

std::filesystem::path shard_folder(const std::filesystem::path& folder, const Shard& shard) {
  return folder / "shards" / shard.name();
}

std::vector<ShardFolder> shard_folders(const std::filesystem::path& folder) {
  std::vector<ShardFolder> all;
  std::error_code error;
  const std::filesystem::path shards = folder / "shards";
  if (!std::filesystem::is_directory(shards, error)) return all;
  for (std::filesystem::directory_iterator i(shards, error), end; !error && i != end; i.increment(error))
    if (const auto shard = parsed(i->path().filename().native(), "-of-")) all.push_back({*shard, i->path()});
  if (error) throw DamagedError(fmt::format("{}: cannot be read: {}", shards.native(), error.message()));
  std::ranges::sort(all, {}, [](const ShardFolder& f) { return std::pair{f.shard.of, f.shard.number}; });
  return all;
}

SweepPlan narrowed(const SweepPlan& plan, const Shard& shard, const Store& merged, const Store& own) {
  SweepPlan part = plan;
  std::erase_if(part.trials, [&](const PlannedTrial& t) {
    const Stored* there = merged.find(t.id);
    return !shard.has(t.id) || (there != nullptr && finished(there->status) && own.find(t.id) == nullptr);
  });
  return part;
}

}  // namespace headlab
