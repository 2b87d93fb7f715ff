#include "core/model/operations.hpp"

#include "core/attention/linear.hpp"
#include "core/attention/shared_heads.hpp"

namespace headlab {

namespace {

/// Multiply-adds a token of what happens between values and outputs.
double attention_operations(const Config::Model& model, double length) {
  const Config::Model m = as_attended(model);
  const double keys = static_cast<double>(m.query_key_dim), d = static_cast<double>(m.dim);
  const auto heads = static_cast<double>(m.heads);
  if (!runs_linear(static_cast<Index>(length), m)) return length * (keys + d);
  return heads * aggregation(m.architecture).linear_operations(keys / heads, d / heads);
}

/// Multiply-adds a token.
double layer_operations(const Config::Model& m, double length) {
  const auto d = static_cast<double>(m.dim), hidden = static_cast<double>(m.feed_forward);
  if (aggregation(m.architecture).pools) return 2 * d * hidden;
  const QueryKeyWidths widths = query_key_widths(m);
  return 2 * d * hidden + d * (widths.queries + widths.keys) + 2 * d * d + attention_operations(m, length);
}

}  // namespace

double forward_operations(const Config& config, const Form& form, double sequences, double length) {
  const double a_token =
      over_layers(config, [&](const Config::Model& m) { return layer_operations(m, length); });
  const double answering = form.answer == Answer::first_token ? 1 : length;
  const double readout = static_cast<double>(config.model.dim) * static_cast<double>(form.outputs());
  return 2 * sequences * (length * a_token + answering * readout);
}

QueryKeyCosts query_key_costs(const Config& config) {
  if (aggregation(config.model.architecture).pools) return {};
  const auto sum = [&](const auto& f) { return over_layers(config, f); };
  return {sum([](const Config::Model& m) { return query_key_widths(m).parameters; }),
          sum([](const Config::Model& m) { return query_key_widths(m).keys; }),
          sum([](const Config::Model& m) { return static_cast<double>(as_attended(m).query_key_dim); })};
}

}  // namespace headlab
