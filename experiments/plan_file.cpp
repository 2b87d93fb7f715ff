#include "experiments/plan_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/log/atomic_file.hpp"

namespace headlab {
namespace {

std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "plan.json"; }

}  // namespace

void write_plan(const std::filesystem::path& folder, const SweepPlan& plan, const std::string& command_line) {
  const nlohmann::ordered_json all{{"version", 1},
                                   {"name", plan.specification.name},
                                   {"title", plan.specification.title},
                                   {"finding", plan.specification.finding},
                                   {"command_line", command_line},
                                   {"ids", plan.ids()}};
  write_atomically(file_in(folder), all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::optional<SweepPlan> read_plan(const std::filesystem::path& folder) try {
  if (!std::filesystem::exists(file_in(folder))) return {};
  const auto all = nlohmann::json::parse(read_bytes(file_in(folder)));
  SweepPlan plan;
  plan.specification.name = all.at("name");
  plan.specification.title = all.at("title");
  for (const auto& id : all.at("ids")) plan.trials.push_back({id, {}});
  return plan;
} catch (const nlohmann::json::exception& e) {
  throw DamagedError(fmt::format("{}: {}", file_in(folder).native(), e.what()));
}

}  // namespace headlab
