#include "experiments/dry_run.hpp"

#include "experiments/plan_file.hpp"

namespace headlab {
namespace {

nlohmann::ordered_json trials_of(const Keys& keys, const SweepPlan& plan, const Store& store,
                                 const RunOptions& options) {
  auto all = nlohmann::ordered_json::array();
  for (const PlannedTrial& t : plan.trials) {
    if (options.only && !options.only->contains(t.id)) continue;
    const Stored* known = store.find(t.id);
    all.push_back({{"id", t.id},
                   {"status", known != nullptr ? to_string(known->status) : "missing"},
                   {"axes", axes_of(keys, plan, t)}});
  }
  return all;
}

}  // namespace

nlohmann::ordered_json dry_run_json(const Keys& keys, const SweepPlan& plan, const Store& store,
                                    const RunOptions& options, const Forecast& f) {
  return {{"name", plan.specification.name},
          {"title", plan.specification.title},
          {"points", plan.points},
          {"excluded", plan.excluded},
          {"repeated", plan.repeated},
          {"duplicates", plan.duplicates},
          {"planned", f.counts.planned},
          {"done", f.counts.done},
          {"diverged", f.counts.diverged},
          {"failed", f.counts.failed},
          {"pending", f.counts.pending},
          {"others", f.counts.others},
          {"to_run", f.to_run},
          {"operations", f.operations},
          {"core_seconds", f.core_seconds},
          {"jobs", options.workers},
          {"seconds", f.seconds},
          {"disk_bytes", f.disk_bytes},
          {"memory_bytes", f.memory_bytes},
          {"trials", trials_of(keys, plan, store, options)}};
}

}  // namespace headlab
