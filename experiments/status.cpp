#include <cmath>

#include "core/base/numbers.hpp"
#include "experiments/command.hpp"
#include "experiments/listing.hpp"
#include "experiments/stored.hpp"
#include "sweeps/attempts.hpp"
#include "sweeps/progress.hpp"

namespace headlab {
namespace {

/// All that is stored, for a folder whose plan is not known.
SweepPlan stored_plan(const Store& store) {
  SweepPlan plan;
  for (const auto& [id, known] : store.trials()) plan.trials.push_back({id, {}});
  return plan;
}

double seconds_in(const Store& store) {
  double sum = 0;
  for (const auto& [id, known] : store.trials())
    if (!std::isnan(known.seconds)) sum += known.seconds;
  return sum;
}

struct Failure {
  std::string id, message;
};
std::vector<Failure> failures(const SweepPlan& plan, const Store& store) {
  std::vector<Failure> all;
  for (const PlannedTrial& t : plan.trials)
    if (const Stored* known = store.find(t.id); known != nullptr && known->status == Status::failed)
      all.push_back({t.id, known->message});
  return all;
}

std::vector<std::string> pending(const SweepPlan& plan, const Store& store) {
  std::vector<std::string> ids;
  for (const PlannedTrial& t : plan.trials)
    if (const Stored* known = store.find(t.id); known == nullptr || known->status == Status::interrupted)
      ids.push_back(t.id);
  return ids;
}

/// Pending ones that some process of this host has at the moment.
std::vector<std::string> running(const SweepPlan& plan, const Store& store) {
  std::vector<std::string> ids = pending(plan, store);
  const auto attempts = read_attempts(store.folder());
  std::erase_if(ids, [&](const std::string& id) {
    const auto attempt = attempts.find(id);
    return attempt == attempts.end() || !is_alive(attempt->second);
  });
  return ids;
}

using Rows = std::vector<std::vector<std::string>>;
Rows rows(const SweepPlan& plan, const Store& store) {
  const Counts c = count(plan, store);
  std::vector<std::string> heading{plan.specification.name.empty() ? store.folder().native()
                                                                   : plan.specification.name};
  if (!plan.specification.title.empty()) heading.push_back(plan.specification.title);
  Rows all{std::move(heading),
           {"planned", std::to_string(c.planned)},
           {"  done", std::to_string(c.done)},
           {"  diverged", std::to_string(c.diverged)},
           {"  failed", std::to_string(c.failed)},
           {"  pending", std::to_string(c.pending)},
           {"    running", std::to_string(running(plan, store).size())},
           {"others", std::to_string(c.others)},
           {"computed", duration(seconds_in(store)) + " of one core"}};
  for (const Failure& f : failures(plan, store))
    all.push_back({fmt::format("failed {}: {}", f.id, f.message)});
  return all;
}

nlohmann::ordered_json json(const SweepPlan& plan, const Store& store) {
  const Counts c = count(plan, store);
  nlohmann::ordered_json all{{"name", plan.specification.name},
                             {"title", plan.specification.title},
                             {"planned", c.planned},
                             {"done", c.done},
                             {"diverged", c.diverged},
                             {"failed", c.failed},
                             {"pending", c.pending},
                             {"running", running(plan, store).size()},
                             {"others", c.others},
                             {"seconds", seconds_in(store)},
                             {"pending_ids", pending(plan, store)},
                             {"running_ids", running(plan, store)}};
  all["failures"] = nlohmann::ordered_json::array();
  for (const Failure& f : failures(plan, store))
    all["failures"].push_back({{"id", f.id}, {"message", f.message}});
  return all;
}

int run(const CommandLine& line) {
  const ResultsFolder results(line.operands[0]);
  const SweepPlan plan = results.plan ? *results.plan : stored_plan(results.store);
  show({"status", rows(plan, results.store), json(plan, results.store)}, line);
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
