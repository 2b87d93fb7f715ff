#include "core/train/cost.hpp"

#include <algorithm>
#include <cmath>

#include "core/attention/aggregation.hpp"
#include "core/attention/blocked_softmax.hpp"
#include "core/attention/linear.hpp"
#include "core/attention/shared_heads.hpp"
#include "core/base/error.hpp"
#include "core/config/sequence_table.hpp"
#include "core/model/model.hpp"
#include "core/model/operations.hpp"
#include "core/tasks/task.hpp"
#include "core/train/history.hpp"

namespace headlab {
namespace {

/// A token: values and gradients behind each mask, the masks' bits, and a head's weights.
double dropout_floats(const Config& config, double length) {
  const auto dim = static_cast<double>(config.model.dim), layers = static_cast<double>(config.model.layers),
             heads = static_cast<double>(config.model.heads);
  const double masked = dim * (1 + 2 * layers), weights = layers * heads * length;
  return 2 * masked + (masked + weights) / 32 + length;
}

/// Of a token and layer: what the linear form keeps, or the weights of heads where softmax's backward does
/// not make them again.
double attention_floats(const Config::Model& model, double length) {
  using enum Architecture;
  const auto m = as_attended(model);
  if (aggregation(m.architecture).pools) return 0;
  if (runs_linear(static_cast<Index>(length), m)) return double(m.dim) + 2 * double(m.query_key_dim);
  const bool softmax = m.architecture == bert || m.architecture == mte;
  const bool made_again = softmax && m.dropout == 0 && length > double(longest_kept);
  return made_again ? 0 : double(m.heads) * length;
}

/// Of a token and layer: what heads share, values and gradients, before each gets its own.
double shared_floats(const Config::Model& m) {
  if (aggregation(m.architecture).pools || m.query_key == QueryKey::concatenated) return 0;
  const QueryKeyWidths widths = query_key_widths(m);
  return 2 * (widths.queries + widths.keys + double(m.dim));
}

/// Of a token and layer: gradients beside attention are of one tile, in longer sequences no part of it.
double layer_floats(const Config::Model& m, double length) {
  const auto d = static_cast<double>(m.dim), hidden = static_cast<double>(m.feed_forward),
             keys = static_cast<double>(as_attended(m).query_key_dim);
  const bool tiles = !Chunk{static_cast<Index>(length), 1}.is_one_tile();
  return (tiles ? 11 * d + 3 * hidden : 16 * d + 5 * hidden) + 4 * keys + shared_floats(m) +
         attention_floats(m, length);
}

}  // namespace

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

double parameters_needed(const Config& config) {
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double d = real(config.model.dim), hidden = real(config.model.feed_forward);
  const double length = real(config.task.length);
  return d * (real(config.task.vocabulary) + 2 * length) + over_layers(config, [&](const Config::Model& m) {
           return d * (2 * d + 2 * hidden) + query_key_widths(m).parameters + 256;
         });
}

double memory_needed(const Config& config) {
  const auto real = [](auto n) { return static_cast<double>(n); };
  const double length = real(config.task.length);
  double activations = 0, tokens = real(config.train.batch) * length;
  for (const double relative : config.eval.relative_lengths) {
    const double n = std::floor(relative * length), columns = std::max(n, 256.);
    activations += columns * over_layers(config, [&](const auto& m) { return layer_floats(m, n); });
    if (config.model.dropout > 0) activations += dropout_floats(config, n) * columns;
    tokens += n * (real(config.eval.sequences) + real(config.eval.test_sequences) +
                   real(config.eval.case_sequences));
  }
  if (config.task.table) tokens += real(config.task.table->tokens.size() + config.task.table->labels.size());
  return 4 * (4 * parameters_needed(config) + activations + tokens);
}

void require_feasible(const Config& config) {
  constexpr double gibibyte = 1 << 30, most = 64;
  const double needed = memory_needed(config) / gibibyte;
  require(needed <= most,
          "needs {:.3g} GiB of memory, more than {} GiB: task.length, task.vocabulary, train.batch, "
          "model.layers, "
          "model.dim, model.query_key_dim, model.feed_forward, eval.* make it so large",
          needed, most);
}

}  // namespace headlab
