#include "sweeps/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/numbers.hpp"
#include "sweeps/memory.hpp"
#include "sweeps/selection.hpp"

namespace headlab {
namespace {

/// Of one trial in results.h5: measured 4 KB at 32 epochs and two lengths, with 7 cases.
double disk_bytes(const Config& c) {
  const auto epochs = static_cast<double>(c.train.epochs),
             lengths = static_cast<double>(c.eval.relative_lengths.size());
  return 1000 + epochs * (40 + 16 * lengths + (c.eval.case_sequences > 0 ? 60 : 0));
}

}  // namespace

Pace pace_of(const SweepPlan& plan, const Store& store, const RunOptions& options, double speed) {
  Pace pace([cost = options.cost, speed](const Config& config) {
    const auto steps = static_cast<double>(config.train.epochs * config.train.steps_per_epoch);
    return usual_overhead + usual_step_overhead * steps +
           cost(config) / (speed * usual_share(static_cast<double>(config.model.dim)));
  });
  for (const PlannedTrial& t : plan.trials)
    if (const Stored* known = store.find(t.id); known != nullptr && known->status == Status::done)
      pace.add(t.config, known->seconds);
  return pace;
}

Forecast forecast(const SweepPlan& plan, const Store& store, const RunOptions& options, double speed) {
  const Pace pace = pace_of(plan, store, options, speed);
  Forecast f;
  f.counts = count(plan, store);
  double longest = 0;
  for (const std::size_t i : todo(plan, store, options)) {
    const Config& config = plan.trials[i].config;
    const double share = options.share_left(plan.trials[i]), seconds = share * pace.seconds(config);
    ++f.to_run;
    f.operations += share * options.cost(config);
    f.core_seconds += seconds;
    f.disk_bytes += disk_bytes(config);
    longest = std::max(longest, seconds);
  }
  f.memory_bytes = memory_predicted(plan, store, options, options.workers);
  f.seconds = std::max(longest, f.core_seconds / std::max(options.workers, 1));
  return f;
}

std::string dry_run_text(const SweepPlan& plan, const Store& store, const RunOptions& options,
                         const Forecast& f) {
  const auto n = [](auto count) { return grouped(static_cast<std::int64_t>(count)); };
  const std::string& title = plan.specification.title;
  std::string text = fmt::format("{}{}{}\n", plan.specification.name, title.empty() ? "" : ": ", title);
  text += fmt::format("{} points", n(plan.points));
  if (plan.excluded > 0) text += fmt::format(", {} excluded", n(plan.excluded));
  if (plan.repeated > 0) text += fmt::format(", {} with values repeated on an axis", n(plan.repeated));
  if (plan.duplicates > 0)
    text += fmt::format(", {} the same as others but for keys that change nothing", n(plan.duplicates));
  text += fmt::format(": {} trials\n{}\n", n(plan.trials.size()), summary(f.counts, store.folder()));
  text += fmt::format(
      "to run: {} trials, {:.2g} operations, about {:.2g} core-hours, {} with -j {}, {} on disk, {} of "
      "memory\n",
      n(f.to_run), f.operations, f.core_seconds / 3600, duration(f.seconds), options.workers,
      bytes_text(f.disk_bytes), bytes_text(f.memory_bytes));
  return text;
}

std::string trial_lines(const Keys& keys, const SweepPlan& plan, const Store& store,
                        const RunOptions& options) {
  std::vector<const Key*> axes;
  for (const auto* section : {&plan.specification.grid, &plan.specification.zip})
    for (const SweepAxis& axis : *section) axes.push_back(find(keys, axis.key));
  std::string lines;
  for (const PlannedTrial& t : plan.trials) {
    if (options.only && !options.only->contains(t.id)) continue;
    const Stored* known = store.find(t.id);
    lines += fmt::format("{} {:11}", t.id, known != nullptr ? to_string(known->status) : "missing");
    for (const Key* key : axes)
      if (!key->inert(t.config)) lines += fmt::format(" {}={}", key->name, text(key->get(t.config)));
    lines += '\n';
  }
  return lines;
}

}  // namespace headlab
