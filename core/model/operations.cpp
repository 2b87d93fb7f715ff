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

}  // namespace

double forward_operations(const Config& config, const Form& form, double sequences, double length) {
  const auto& m = config.model;
  const QueryKeyWidths widths = query_key_widths(m);
  const double d = static_cast<double>(m.dim), compared = widths.queries + widths.keys;
  const double hidden = static_cast<double>(m.feed_forward), classes = static_cast<double>(form.classes);
  const bool pools = aggregation(m.architecture).pools;
  const double a_token =
      2 * d * hidden + (pools ? 0 : d * compared + 2 * d * d + attention_operations(m, length));
  const double answering = form.answer == Answer::first_token ? 1 : length;
  const double a_sequence = static_cast<double>(m.layers) * length * a_token + answering * d * classes;
  return 2 * sequences * a_sequence;
}

}  // namespace headlab
