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

}  // namespace

std::vector<Array<double>> layer_inputs(const Config& config, const Tensors& parameters, Purpose purpose,
                                        std::int64_t count) {
  Learner learner(config);
  restore(learner.parameters(), &Parameters::value, parameters);
  const std::int64_t length = config.task.length;
  const Sequences all = sequences(config, purpose, static_cast<std::uint64_t>(length), count, length);
  std::vector<Array<double>> inputs;
  learner.each_chunk(all, [&](Plan& plan) {
    const std::vector<Slot>& seen = plan.ends().inputs;
    inputs.resize(seen.size(), {{0, static_cast<std::size_t>(config.model.dim)}, {}});
    for (std::size_t k = 0; k < seen.size(); ++k) append_rows(plan.context().value(seen[k]), inputs[k]);
  });
  return inputs;
}

Array<double> second_moments(const Array<double>& rows) {
  const Dense x = dense(rows);
  return array(x.transpose() * x / static_cast<double>(x.rows()));
}

}  // namespace headlab::collaborative
