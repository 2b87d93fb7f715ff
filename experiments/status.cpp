#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/numbers.hpp"
#include "experiments/command.hpp"
#include "experiments/listing.hpp"
#include "experiments/stored.hpp"
#include "sweeps/attempts.hpp"
#include "sweeps/claims.hpp"
#include "sweeps/progress.hpp"

namespace headlab {
namespace {

using Trials = std::map<std::string, Stored>;

/// What a folder and its shards hold together.
Trials trials_of(const ResultsFolder& results) {
  Trials all = results.store.trials();
  for (const auto& [shard, store] : results.shards)
    for (const auto& [id, known] : store.trials())
      if (const auto [there, is_new] = all.emplace(id, known); !is_new && !finished(there->second.status))
        there->second = known;
  return all;
}

const Stored* find(const Trials& trials, const std::string& id) {
  const auto found = trials.find(id);
  return found == trials.end() ? nullptr : &found->second;
}

/// All that is stored, for a folder whose plan is not known.
SweepPlan stored_plan(const Trials& trials) {
  SweepPlan plan;
  for (const auto& [id, known] : trials) plan.trials.push_back({id, {}});
  return plan;
}

double seconds_in(const Trials& trials) {
  double sum = 0;
  for (const auto& [id, known] : trials)
    if (!std::isnan(known.seconds)) sum += known.seconds;
  return sum;
}

struct Failure {
  std::string id, message;
};
std::vector<Failure> failures(const SweepPlan& plan, const Trials& trials) {
  std::vector<Failure> all;
  for (const PlannedTrial& t : plan.trials)
    if (const Stored* known = find(trials, t.id); known != nullptr && known->status == Status::failed)
      all.push_back({t.id, known->message});
  return all;
}

std::vector<std::string> pending(const SweepPlan& plan, const Trials& trials) {
  std::vector<std::string> ids;
  for (const PlannedTrial& t : plan.trials)
    if (const Stored* known = find(trials, t.id); known == nullptr || known->status == Status::interrupted)
      ids.push_back(t.id);
  return ids;
}

/// Those that a living sweep has claimed and given to a worker: it also claims suspects, which wait.
std::vector<std::string> running_in(const std::filesystem::path& folder,
                                    const std::vector<std::string>& ids) {
  std::vector<std::string> all = claimed(folder, ids);
  const auto attempts = read_attempts(folder);
  std::erase_if(all, [&](const std::string& id) {
    const auto attempt = attempts.find(id);
    return attempt == attempts.end() || !is_alive(attempt->second);
  });
  return all;
}

/// Pending ones that some process has at the moment.
std::vector<std::string> running(const SweepPlan& plan, const Trials& trials, const ResultsFolder& results) {
  const std::vector<std::string> ids = pending(plan, trials);
  std::vector<std::string> all = running_in(results.store.folder(), ids);
  for (const auto& [shard, store] : results.shards)
    std::ranges::move(running_in(store.folder(), ids), std::back_inserter(all));
  return all;
}

/// A shard's trials, of those of the whole sweep.
struct ShardCounts {
  std::string name;
  Counts counts;
  std::int64_t not_merged = 0;  ///< finished there, and not in the folder's own results
};
std::vector<ShardCounts> shards(const SweepPlan& plan, const ResultsFolder& results) {
  std::vector<ShardCounts> all;
  for (const auto& [shard, store] : results.shards) {
    SweepPlan own;
    for (const PlannedTrial& t : plan.trials)
      if (shard.has(t.id) && (store.find(t.id) != nullptr || results.store.find(t.id) == nullptr))
        own.trials.push_back({t.id, {}});
    all.push_back({shard.name(), count(own, store)});
    for (const auto& [id, known] : store.trials())
      all.back().not_merged += finished(known.status) && results.store.find(id) == nullptr;
  }
  return all;
}

/// Whether a terminal would take something in it for a command.
bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; });
}

using Rows = std::vector<std::vector<std::string>>;
Rows rows(const SweepPlan& plan, const Trials& trials, const ResultsFolder& results) {
  const Counts c = count(plan, trials);
  std::vector<std::string> heading{plan.specification.name.empty() ? results.store.folder().native()
                                                                   : plan.specification.name};
  if (const std::string& title = plan.specification.title; !title.empty())
    heading.push_back(has_control(title) ? visible(title) : title);
  Rows all{std::move(heading),
           {"planned", std::to_string(c.planned)},
           {"  done", std::to_string(c.done)},
           {"  diverged", std::to_string(c.diverged)},
           {"  failed", std::to_string(c.failed)},
           {"  pending", std::to_string(c.pending)},
           {"    running", std::to_string(running(plan, trials, results).size())},
           {"others", std::to_string(c.others)},
           {"computed", duration(seconds_in(trials)) + " of one core"}};
  for (const ShardCounts& s : shards(plan, results))
    all.push_back({"shard " + s.name,
                   fmt::format("{} planned, {} done, {} diverged, {} failed, {} pending; {} to be merged",
                               s.counts.planned, s.counts.done, s.counts.diverged, s.counts.failed,
                               s.counts.pending, s.not_merged)});
  for (const Failure& f : failures(plan, trials))
    all.push_back({fmt::format("failed {}: {}", f.id, f.message)});
  return all;
}

nlohmann::ordered_json json(const SweepPlan& plan, const Trials& trials, const ResultsFolder& results) {
  const Counts c = count(plan, trials);
  nlohmann::ordered_json all{{"name", plan.specification.name},
                             {"title", plan.specification.title},
                             {"planned", c.planned},
                             {"done", c.done},
                             {"diverged", c.diverged},
                             {"failed", c.failed},
                             {"pending", c.pending},
                             {"running", running(plan, trials, results).size()},
                             {"others", c.others},
                             {"seconds", seconds_in(trials)},
                             {"pending_ids", pending(plan, trials)},
                             {"running_ids", running(plan, trials, results)}};
  all["failures"] = nlohmann::ordered_json::array();
  for (const Failure& f : failures(plan, trials))
    all["failures"].push_back({{"id", f.id}, {"message", f.message}});
  all["shards"] = nlohmann::ordered_json::array();
  for (const ShardCounts& s : shards(plan, results))
    all["shards"].push_back({{"shard", s.name},
                             {"planned", s.counts.planned},
                             {"done", s.counts.done},
                             {"diverged", s.counts.diverged},
                             {"failed", s.counts.failed},
                             {"pending", s.counts.pending},
                             {"not_merged", s.not_merged}});
  return all;
}

int run(const CommandLine& line) {
  const ResultsFolder results(line.operands[0]);
  const Trials trials = trials_of(results);
  const SweepPlan plan = results.plan ? *results.plan : stored_plan(trials);
  show({"status", rows(plan, trials, results), json(plan, trials, results)}, line);
  return exit_code(results);
}

}  // namespace

Command status_command() {
  return {.name = "status",
          .operands = "DIR",
          .help = "how a sweep's folder stands",
          .details =
              "planned = done + diverged + failed + pending, of the sweep that was last started there;\n"
              "running ones, of this host, are pending.",
          .example = "headlab status results/demo",
          .fewest = 1,
          .most = 1,
          .options = {json_option()},
          .run = run};
}

}  // namespace headlab
