#include "sweeps/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <utility>

#include "core/train/cost.hpp"
#include "sweeps/processors.hpp"
#include "sweeps/selection.hpp"

namespace headlab {
namespace {

using std::filesystem::path;
constexpr double unlimited = std::numeric_limits<double>::infinity();

double number_in(const path& file, double otherwise) {
  double x = 0;
  std::ifstream in(file);
  return in >> x ? x : otherwise;  // "max" is no number
}

/// What a cgroup's limit leaves: of version 2, else of version 1. Its usage counts files in the cache, which
/// go when memory is asked for.
double left_in(const path& group) {
  double left = unlimited;
  for (const auto& [limit, usage, cache] :
       {std::array{"memory.max", "memory.current", "inactive_file "},
        std::array{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}}) {
    double cached = 0;
    std::ifstream in(group / "memory.stat");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(cache)) cached = std::stod(line.substr(line.find(' ')));
    left = std::min(left,
                    number_in(group / limit, unlimited) - std::max(0., number_in(group / usage, 0) - cached));
  }
  return std::max(left, 0.);
}

/// "MemAvailable:   24576 kB"
double unused(const path& memory) {
  constexpr double kibibyte = 1024;
  std::ifstream in(memory);
  std::string name, unit;
  for (double amount = 0; in >> name >> amount; std::getline(in, unit))
    if (name == "MemAvailable:") return kibibyte * amount;
  return unlimited;
}

/// Of the trials to run, the largest first.
std::vector<double> needs(const SweepPlan& plan, const Store& store, const RunOptions& options) {
  std::vector<double> all;
  for (const std::size_t i : todo(plan, store, options)) all.push_back(options.memory(plan.trials[i].config));
  std::ranges::sort(all, std::greater());
  return all;
}

}  // namespace

double available_memory(const path& groups, const path& mount, const path& memory) {
  return std::min(least_of_cgroups(groups, mount, "memory", left_in), unused(memory));
}

double worker_memory(const Config& config) {
  constexpr double own = 30e6, checkpoint = 2 * 12;  // bytes; bytes a parameter
  return own + memory_needed(config) + checkpoint * parameters_needed(config);
}

double memory_predicted(const SweepPlan& plan, const Store& store, const RunOptions& options, int workers) {
  const std::vector<double> all = needs(plan, store, options);
  double sum = 0;
  for (std::size_t i = 0; i < all.size() && std::cmp_less(i, workers); ++i) sum += all[i];
  return sum;
}

int workers_that_fit(const SweepPlan& plan, const Store& store, const RunOptions& options, double available) {
  const std::vector<double> all = needs(plan, store, options);
  double sum = 0;
  int fit = 0;
  for (; fit < options.workers && std::cmp_less(fit, all.size()); ++fit) {
    sum += all[static_cast<std::size_t>(fit)];
    if (sum > available) return std::max(fit, 1);
  }
  return options.workers;
}

std::string bytes_text(double bytes) {
  constexpr std::array units{"bytes", "KB", "MB", "GB", "TB"};
  constexpr double step = 1000;
  std::size_t unit = 0;
  for (; bytes >= step - .5 && unit + 1 < units.size(); ++unit) bytes /= step;
  const int digits = unit > 0 && bytes < 10 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, digits, units.at(unit));
}

}  // namespace headlab
