#include "core/train/optimiser.hpp"

#include <cmath>

#include "core/kernels/optimiser.hpp"
#include "core/model/initialise.hpp"

namespace headlab {
namespace {

void scale(const Matrix& m, double factor) {
  for (Index r = 0; r < m.rows; ++r)
    for (Index c = 0; c < m.cols; ++c) m(r, c) *= static_cast<float>(factor);
}

}  // namespace

void add_l2(Parameters& parameters, double l2) {
  if (l2 == 0) return;
  const auto twice = static_cast<float>(2 * l2);
  for (const Region& r : parameters.entries()) {
    if (!is_weight(r.name)) continue;
    const Matrix w = at(parameters.value, r), g = at(parameters.gradient, r);
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.cols; ++j) g(i, j) += twice * w(i, j);
  }
}

double gradient_norm(Parameters& parameters) {
  const Index n = std::ssize(parameters.gradient);  // padding is zero
  return std::sqrt(kernels::optimiser().sum_of_squares({parameters.gradient.data(), 1, n, n}));
}

void clip(Parameters& parameters, const Config::Train& train, double global_norm) {
  if (train.clip == 0) return;
  for (const Region& r : parameters.entries()) {
    const Matrix g = at(parameters.gradient, r);
    const double norm =
        train.clip_mode == ClipMode::global ? global_norm : std::sqrt(kernels::optimiser().sum_of_squares(g));
    if (norm > train.clip) scale(g, train.clip / norm);
  }
}

void adam(Parameters& parameters, double rate, std::int64_t t) {
  const auto steps = static_cast<double>(t);
  const double corrected = rate * std::sqrt(1 - std::pow(.999, steps)) / (1 - std::pow(.9, steps));
  kernels::optimiser().adam(parameters.value.data(), parameters.gradient.data(), parameters.moment1.data(),
                            parameters.moment2.data(), std::ssize(parameters.value), {.rate = corrected});
}

}  // namespace headlab
