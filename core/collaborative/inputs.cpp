#include "core/collaborative/inputs.hpp"

#include <algorithm>

#include "core/collaborative/eigen.hpp"
#include "core/train/learner.hpp"

namespace headlab::collaborative {
namespace {

/// Tokens of m (features, tokens) become rows.
void append_rows(const Matrix& m, Array<double>& rows) {
  for (headlab::Index t = 0; t < m.cols; ++t)
    for (headlab::Index f = 0; f < m.rows; ++f) rows.elements.push_back(m(f, t));
  rows.shape[0] += static_cast<std::size_t>(m.cols);
}

std::span<const std::int32_t> part(const std::vector<std::int32_t>& all, std::int64_t first, std::int64_t n) {
  return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
}

}  // namespace

std::vector<Array<double>> layer_inputs(const Config& config, const Tensors& parameters, Purpose purpose,
                                        std::int64_t count) {
  Learner learner(config);
  restore(learner.parameters(), &Parameters::value, parameters);
  const std::int64_t length = config.task.length, size = chunk_size(length);
  const Sequences all = sequences(config, purpose, static_cast<std::uint64_t>(length), count, length);
  const std::int64_t answers = std::ssize(all.labels) / std::max<std::int64_t>(count, 1);
  std::vector<Array<double>> inputs;
  for (std::int64_t first = 0; first < count; first += size) {
    const std::int64_t n = std::min(size, count - first);
    Plan& plan = learner.plan({length, n});
    plan.work.tokens = part(all.tokens, first * length, n * length);
    plan.work.labels = part(all.labels, first * answers, n * answers);
    plan.forward();
    const std::vector<Slot>& seen = plan.ends().inputs;
    inputs.resize(seen.size(), {{0, static_cast<std::size_t>(config.model.dim)}, {}});
    for (std::size_t k = 0; k < seen.size(); ++k) append_rows(plan.context().value(seen[k]), inputs[k]);
  }
  return inputs;
}

Array<double> second_moments(const Array<double>& rows) {
  const Dense x = dense(rows);
  return array(x.transpose() * x / static_cast<double>(x.rows()));
}

}  // namespace headlab::collaborative
