#include "core/kernels/optimiser.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

void adam(float* __restrict w, const float* __restrict g, float* __restrict m, float* __restrict v, Index n,
          Adam a) {
  const auto rate = static_cast<float>(a.rate), epsilon = static_cast<float>(a.epsilon);
  const auto beta1 = static_cast<float>(a.beta1), rest1 = static_cast<float>(1 - a.beta1);
  const auto beta2 = static_cast<float>(a.beta2), rest2 = static_cast<float>(1 - a.beta2);
  for (Index k = 0; k < n; ++k) {
    m[k] = beta1 * m[k] + rest1 * g[k];
    v[k] = beta2 * v[k] + rest2 * g[k] * g[k];
    w[k] -= rate * m[k] / (__builtin_sqrtf(v[k]) + epsilon);
  }
}

double sum_of_squares(Matrix m) {
  using Doubles = stdx::native_simd<double>;
  constexpr Index lanes = Doubles::size();
  Doubles total = 0;
  double rest = 0;
  for (Index r = 0; r < m.rows; ++r) {
    const float* x = m.row(r);
    Index c = 0;
    for (; c + lanes <= m.cols; c += lanes) {
      const Doubles wide(x + c, stdx::element_aligned);
      total += wide * wide;
    }
    for (; c < m.cols; ++c) rest += double{x[c]} * double{x[c]};
  }
  return stdx::reduce(total) + rest;
}

}  // namespace

const Optimiser optimiser{adam, sum_of_squares};

}  // namespace headlab::kernels::HEADLAB_ISA
