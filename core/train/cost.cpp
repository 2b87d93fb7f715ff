#include "core/train/cost.hpp"

#include <cmath>

#include "core/model/operations.hpp"
#include "core/tasks/task.hpp"
#include "core/train/history.hpp"

namespace headlab {

std::int64_t length_at(const Config& config, double relative_length) {
  return static_cast<std::int64_t>(
      std::floor(relative_length * static_cast<double>(config.task.length) + 1e-9));
}

bool evaluates(const Config& config, std::int64_t epoch) {
  return epoch % config.eval.every == 0 || epoch == config.train.epochs;
}

double step_operations(const Config& config) {
  return 3 * forward_operations(config, task(config.task.name).form(config),
                                static_cast<double>(config.train.batch),
                                static_cast<double>(config.task.length));
}

double trial_operations(const Config& config) {
  const Task& t = task(config.task.name);
  const auto forward = [&](double relative, double sequences) {
    return forward_operations(config, t.form(config), sequences,
                              static_cast<double>(length_at(config, relative)));
  };
  const auto steps = static_cast<double>(config.train.epochs * config.train.steps_per_epoch);
  const std::int64_t evaluated = (config.train.epochs + config.eval.every - 1) / config.eval.every;
  const auto evaluations = static_cast<double>(evaluated);
  const auto validation = static_cast<double>(config.eval.sequences),
             test = static_cast<double>(config.eval.test_sequences);
  double total = steps * step_operations(config);
  for (const double relative : config.eval.relative_lengths)
    total += forward(relative, evaluations * validation + test);
  if (!t.cases.empty())
    for (const double relative : case_lengths)
      total += forward(relative, evaluations * static_cast<double>(config.eval.case_sequences));
  return total;
}

}  // namespace headlab
