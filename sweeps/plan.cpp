#include "sweeps/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "core/base/faults.hpp"
#include "core/base/numbers.hpp"
#include "core/config/write.hpp"
#include "core/train/cost.hpp"

namespace headlab {
namespace {

/// Goes through the points of a specification; the settings are those of the current one.
class Points {
 public:
  explicit Points(const Specification& s) : sources_(1) {
    for (const SweepAxis& axis : s.base) settings().push_back({axis.key, axis.values.front(), axis.where});
    for (const SweepAxis& axis : s.grid) factors_.push_back({{&axis}, settings().size()}), declare(axis);
    if (!s.zip.empty()) factors_.push_back({{}, settings().size()});
    for (const SweepAxis& axis : s.zip) factors_.back().axes.push_back(&axis), declare(axis);
    for (const auto& exclusion : s.exclude) {
      exclusions_.emplace_back();
      for (const SweepAxis& axis : exclusion)
        exclusions_.back().emplace_back(
            std::ranges::find(settings(), axis.key, &Setting::name) - settings().begin(), &axis);
    }
    for (std::size_t f = 0; f < factors_.size(); ++f) set(f, 0);
  }
  const std::vector<Source>& sources() const { return sources_; }
  /// Whether the point's value on some axis, or of all in [zip] together, has been there before.
  bool repeated() const {
    return std::ranges::any_of(factors_, [](const Factor& f) {
      const auto same = [&](std::size_t earlier) {
        return std::ranges::all_of(
            f.axes, [&](const SweepAxis* axis) { return axis->values[earlier] == axis->values[f.at]; });
      };
      return std::ranges::any_of(std::views::iota(std::size_t{0}, f.at), same);
    });
  }
  /// Exclusions, by place in the specification, that have left out no point so far.
  std::vector<std::size_t> unused() const {
    std::vector<std::size_t> all;
    for (std::size_t e = 0; e < exclusions_.size(); ++e)
      if (!used_.contains(e)) all.push_back(e);
    return all;
  }
  bool excluded() {
    const auto has = [&](const auto& condition) {
      const auto& [setting, axis] = condition;
      return std::ranges::count(axis->values, sources_[0].settings[static_cast<std::size_t>(setting)].text) >
             0;
    };
    bool any = false;
    for (std::size_t e = 0; e < exclusions_.size(); ++e)
      if (std::ranges::all_of(exclusions_[e], has)) any = true, used_.insert(e);
    return any;
  }
  /// False after the last point.
  bool next() {
    for (std::size_t f = factors_.size(); f-- > 0;) {
      const bool carry = factors_[f].at + 1 == factors_[f].axes.front()->values.size();
      set(f, carry ? 0 : factors_[f].at + 1);
      if (!carry) return true;
    }
    return false;
  }

 private:
  struct Factor {
    std::vector<const SweepAxis*> axes;
    std::size_t first_setting, at = 0;
  };
  std::vector<Setting>& settings() { return sources_[0].settings; }
  void declare(const SweepAxis& axis) { settings().push_back({axis.key, "", axis.where}); }
  void set(std::size_t f, std::size_t at) {
    Factor& factor = factors_[f];
    factor.at = at;
    for (std::size_t i = 0; i < factor.axes.size(); ++i)
      settings()[factor.first_setting + i].text = factor.axes[i]->values[at];
  }

  std::vector<Source> sources_;
  std::vector<Factor> factors_;
  std::vector<std::vector<std::pair<std::ptrdiff_t, const SweepAxis*>>> exclusions_;
  std::set<std::size_t> used_;  ///< exclusions
};

/// Faults of points, each told once with the number of points that have it.
class PointFaults {
 public:
  void add(const std::string& lines) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const auto [i, is_new] = counts_.try_emplace(line, 0);
      if (is_new) order_.push_back(&i->first);
      ++i->second;
    }
  }
  void raise() const {
    Faults faults;
    const std::size_t shown = std::min(order_.size(), most_shown);
    for (std::size_t i = 0; i < shown; ++i) {
      const std::int64_t n = counts_.at(*order_[i]);
      faults.add(fmt::format("{} ({} point{})", *order_[i], grouped(n), n == 1 ? "" : "s"));
    }
    if (shown < order_.size()) faults.add(fmt::format("... and {} faults more", order_.size() - shown));
    faults.raise();
  }

 private:
  static constexpr std::size_t most_shown = 20;
  std::unordered_map<std::string, std::int64_t> counts_;
  std::vector<const std::string*> order_;
};

bool can_be_set(const Keys& keys, const SweepAxis& axis) try {
  Config scratch;
  const Key* key = find(keys, axis.key);
  return !axis.values.empty() &&
         std::ranges::all_of(axis.values, [&](const std::string& v) { return key->set(scratch, v); });
} catch (const ConfigError&) {
  return false;
}

/// Whether what could be read of a faulty specification has points: every key stands once, with values that
/// it may take.
bool has_points(const Keys& keys, const Specification& s) {
  std::set<std::string> seen;
  for (const auto* axes : {&s.base, &s.grid, &s.zip})
    for (const SweepAxis& axis : *axes)
      if (!can_be_set(keys, axis) || !seen.insert(axis.key).second) return false;
  const auto is_seen = [&](const SweepAxis& axis) { return seen.contains(axis.key); };
  const auto goes_with_the_first = [&](const SweepAxis& axis) {
    return axis.values.size() == s.zip.front().values.size();
  };
  return points(s) <= most_points && std::ranges::all_of(s.zip, goes_with_the_first) &&
         std::ranges::all_of(s.exclude, [&](const auto& axes) {
           return !axes.empty() && std::ranges::all_of(axes, is_seen);
         });
}

std::vector<std::string> notes(const Keys& keys, const SweepPlan& plan) {
  std::vector<std::string> all;
  for (const auto* axes : {&plan.specification.base, &plan.specification.grid, &plan.specification.zip})
    for (const SweepAxis& axis : *axes)
      if (std::ranges::all_of(plan.trials, [inert = find(keys, axis.key)->inert](const PlannedTrial& t) {
            return inert(t.config);
          }))
        all.push_back(place(axis.where, axis.key) + ": changes nothing in any trial");
  return all;
}

}  // namespace

std::vector<std::string> SweepPlan::ids() const {
  std::vector<std::string> all;
  for (const PlannedTrial& t : trials) all.push_back(t.id);
  return all;
}

SweepPlan make_plan(const Keys& keys, Specification specification) {
  SweepPlan plan{std::move(specification)};
  PointFaults faults;
  std::unordered_set<std::string> seen;
  Points points(plan.specification);
  do {
    ++plan.points;
    if (points.excluded()) {
      ++plan.excluded;
      continue;
    }
    try {
      Config config = resolve(keys, points.sources()).config;
      require_feasible(config);
      std::string trial = id(keys, config);
      if (seen.insert(trial).second)
        plan.trials.push_back({std::move(trial), std::move(config)});
      else
        ++(points.repeated() ? plan.repeated : plan.duplicates);
    } catch (const ConfigError& e) {
      faults.add(e.what());
    }
  } while (points.next());
  faults.raise();
  require(!plan.trials.empty(), "{}: [[exclude]] leaves out all {} points", plan.specification.name,
          plan.points);
  plan.notes = notes(keys, plan);
  for (const std::size_t e : points.unused())
    plan.notes.push_back(plan.specification.exclude[e].front().where + ": [[exclude]]: leaves out no point");
  return plan;
}

SweepPlan make_plan(const Keys& keys, std::string_view text, const std::string& file, const Choice& choice) {
  Faults faults;
  Specification s = read_specification(keys, text, file, choice, faults);
  if (!faults.empty() && has_points(keys, s)) try {
      make_plan(keys, s);
    } catch (const ConfigError& e) {
      faults.add(e.what());
    }
  faults.raise();
  return make_plan(keys, std::move(s));
}

}  // namespace headlab
