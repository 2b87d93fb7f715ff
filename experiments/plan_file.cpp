#include "experiments/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/log/atomic_file.hpp"
#include "experiments/stored.hpp"

namespace headlab {
namespace {

constexpr std::string_view advice = "; start the sweep again, which writes it anew";

nlohmann::ordered_json trials_of(const Keys& keys, const SweepPlan& plan) {
  auto trials = nlohmann::ordered_json::array();
  for (const PlannedTrial& t : plan.trials)
    trials.push_back({{"id", t.id}, {"axes", axes_of(keys, plan, t)}});
  return trials;
}

}  // namespace

nlohmann::ordered_json axes_of(const Keys& keys, const SweepPlan& plan, const PlannedTrial& trial) {
  auto axes = nlohmann::ordered_json::object();
  for (const auto* section : {&plan.specification.grid, &plan.specification.zip})
    for (const SweepAxis& axis : *section)
      if (const Key& key = *find(keys, axis.key); !key.inert(trial.config))
        axes[key.name] = json_of(key.get(trial.config));
  return axes;
}

void write_plan(const Keys& keys, const std::filesystem::path& folder, const SweepPlan& plan,
                const std::string& budget, const std::string& command_line, const std::string& name) {
  const nlohmann::ordered_json all{{"version", 1},
                                   {"name", plan.specification.name},
                                   {"title", plan.specification.title},
                                   {"finding", plan.specification.finding},
                                   {"budget", budget.empty() ? "paper" : budget},
                                   {"command_line", command_line},
                                   {"specification", plan.specification.text},
                                   {"trials", trials_of(keys, plan)}};
  write_atomically(folder / name, all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::optional<SweepPlan> read_plan(const std::filesystem::path& folder, const std::string& name) try {
  if (!std::filesystem::exists(folder / name)) return {};
  const auto all = nlohmann::ordered_json::parse(read_bytes(folder / name));
  SweepPlan plan;
  plan.specification.name = all.at("name");
  plan.specification.title = all.at("title");
  plan.specification.text = all.value("specification", "");
  auto& axes = plan.specification.grid;
  for (const auto& trial : all.at("trials")) {
    plan.trials.push_back({trial.at("id"), {}});
    for (const auto& [key, value] : trial.at("axes").items())
      if (std::ranges::find(axes, key, &SweepAxis::key) == axes.end()) axes.push_back({key, {}, {}});
  }
  return plan;
} catch (const nlohmann::json::exception&) {
  throw DamagedError(fmt::format("{}: not a plan as headlab writes it{}", (folder / name).native(), advice));
} catch (const std::system_error& e) {
  throw DamagedError(std::string(e.what()).append(advice));
}

}  // namespace headlab
