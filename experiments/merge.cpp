#include "sweeps/merge.hpp"

#include <algorithm>
#include <limits>

#include "core/base/faults.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/results_file.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/plan_file.hpp"
#include "experiments/sharding.hpp"
#include "sweeps/claims.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

/// What a results.h5, or the one in a folder, says was planned; nothing if there is none that can be read.
std::optional<SweepPlan> plan_in_results(const path& source) try {
  const path file = std::filesystem::is_regular_file(source) ? source : source / "results.h5";
  if (!std::filesystem::is_regular_file(file)) return {};
  const Summaries all = read_summaries(file, {"planned"});
  SweepPlan plan;
  plan.specification.text = all.specification;
  for (const Summary& s : all.trials)
    if (const auto planned = s.values.find("planned");
        planned != s.values.end() && planned->second == hdf5::Value(true))
      plan.trials.push_back({s.id, {}});
  return plan;
} catch (const DamagedError&) {
  return {};
}

/// Folders with shards in them stand for these, too.
std::vector<path> sources_of(const CommandLine& line) {
  std::vector<path> all;
  for (const std::string& operand : line.operands) {
    const auto shards = shard_folders(operand);
    if (operand != line.operands.front() &&
        (shards.empty() || std::filesystem::exists(path(operand) / "results.h5")))
      all.emplace_back(operand);
    for (const ShardFolder& shard : shards) all.push_back(shard.path);
  }
  return all;
}

/// The plan of what is merged: the shards' of the whole sweep, or what was planned in one of the folders.
SweepPlan plan_of(const CommandLine& line) {
  for (const std::string& folder : line.operands)
    if (auto plan = plan_of_shards(folder)) return *plan;
  for (const std::string& folder : line.operands)
    if (std::filesystem::is_directory(folder))
      if (auto plan = read_plan(folder); plan && !plan->specification.text.empty()) return *plan;
  for (const std::string& folder : line.operands)
    if (auto plan = plan_in_results(folder)) return *plan;
  return {};
}

/// The shards' plan becomes the folder's, so that others know what is missing.
void keep_plan(const CommandLine& line, const SweepPlan& used) {
  const path folder = line.operands.front();
  for (const std::string& operand : line.operands)
    for (const ShardFolder& shard : shard_folders(operand))
      if (const auto plan = read_plan(shard.path, sweep_plan_name); plan && plan->ids() == used.ids())
        return write_atomically(folder / "plan.json", read_bytes(shard.path / sweep_plan_name));
  for (const std::string& operand : line.operands)
    if (operand != line.operands.front() && std::filesystem::exists(path(operand) / "plan.json") &&
        !std::filesystem::exists(folder / "plan.json"))
      return write_atomically(folder / "plan.json", read_bytes(path(operand) / "plan.json"));
}

void tell(const Merged& merged) {
  std::vector<std::vector<std::string>> rows;
  for (const MergeSource& s : merged.sources)
    rows.push_back({s.path.native(), fmt::format("{} trials, {} new", grouped(s.trials), grouped(s.added))});
  console::offer(console::table(rows, console::width()));
}

/// DIR alone need not have anything, if others are named.
void require_sources(const CommandLine& line) {
  const auto holds_results = [](const path& folder) {
    return !shard_folders(folder).empty() || std::filesystem::exists(folder / "results.h5") ||
           std::filesystem::is_directory(folder / "trials");
  };
  Faults faults;
  for (const std::string& operand : line.operands)
    if (operand != line.operands.front() || line.operands.size() == 1)
      if (!std::filesystem::exists(operand) ||
          (std::filesystem::is_directory(operand) && !holds_results(operand)))
        faults.add(visible(operand) + ": neither a folder with results nor a file");
  faults.raise();
  const path folder = line.operands.front();
  require(!std::filesystem::exists(folder) || std::filesystem::is_directory(folder),
          "{}: not a folder, where results.h5 could be written", visible(folder.native()));
}

int run(const CommandLine& line) {
  const path folder = line.operands.front();
  const Keys keys = all_keys();
  const SweepPlan plan = plan_of(line);
  require_sources(line);
  const FolderLock lock(folder);
  const Merged merged = merge(keys,
                              {.folder = folder,
                               .sources = sources_of(line),
                               .seal = line.has("accept-unsealed") ? Seal::may_be_missing : Seal::required,
                               .partial = line.has("partial")},
                              plan);
  console::notes(merged.notes);
  for (const std::string& fault : merged.faults) console::errors(fault);
  if (!merged.faults.empty()) {
    console::notes({fmt::format("{}: nothing was written", folder.native())});
    return damaged;
  }
  keep_plan(line, plan);
  tell(merged);
  const Counts counts = count(plan, Store(folder));
  console::offer(summary(counts, folder) + "\n");
  return counts.failed > 0 ? trials_failed : done;
}

}  // namespace

Command merge_command() {
  return {
      .name = "merge",
      .operands = "DIR [OTHER]...",
      .help = "fold the shards of a sweep, or other results, into one results.h5",
      .details =
          "Takes DIR's own trials, those of DIR/shards/*, and of each OTHER: a folder with results or with\n"
          "shards, a results.h5 or a trial's file. All are verified first; if one is damaged, foreign or of\n"
          "another result scheme, if two disagree on a trial, or if planned trials are nowhere, each fault "
          "is\n"
          "told in a line and nothing is written. Sources are left as they are: once merged, DIR/shards may "
          "go.",
      .example = "headlab merge results/mode-model-dim",
      .fewest = 1,
      .most = std::numeric_limits<std::size_t>::max(),
      .options = {{"partial", "", "merge what is there though planned trials are missing"},
                  {"accept-unsealed", "",
                   "read files that another program has written to, which takes their seal off"}},
      .run = run};
}

}  // namespace headlab
