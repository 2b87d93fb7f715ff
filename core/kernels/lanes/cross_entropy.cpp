// c: class, t: column.
#include "core/kernels/cross_entropy.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

constexpr Index lanes = Vec::size();
constexpr float lowest = -std::numeric_limits<float>::infinity();

/// The first of n numbers. Lanes past the last hold -infinity, whose exponential, 1e-38, is lost in a sum.
Vec load(const float* x, Index n) {
  if (n >= lanes) return {x, stdx::element_aligned};
  return Vec([&](auto k) { return Index{k} < n ? x[k] : lowest; });
}
void store(const Vec& v, float* x, Index n) {
  if (n >= lanes) return v.copy_to(x, stdx::element_aligned);
  for (Index k = 0; k < n; ++k) x[k] = v[static_cast<std::size_t>(k)];
}

Peak over_columns(const float* logits, float* e, Index n) {
  Vec maximum = lowest;
  for (Index k = 0; k < n; k += lanes) maximum = stdx::max(maximum, load(logits + k, n - k));
  const float highest = stdx::hmax(maximum);
  for (Index k = 0; k < n; k += lanes) store(exp(load(logits + k, n - k) - highest), e + k, n - k);
  return {highest, std::accumulate(e, e + n, 0.)};
}

Tile exp_tile(const Tile& x) { return {exp(x.a), exp(x.b)}; }

void over_rows(Matrix logits, Matrix statistics) {
  for (Index t = 0; t < logits.cols; t += Tile::size) {
    Tile maximum(logits.row(0) + t), first = 0, sum = 0;
    for (Index c = 1; c < logits.rows; ++c) {
      const Tile x(logits.row(c) + t);
      stdx::where(x.a > maximum.a, first.a) = static_cast<float>(c);
      stdx::where(x.b > maximum.b, first.b) = static_cast<float>(c);
      maximum = {stdx::max(maximum.a, x.a), stdx::max(maximum.b, x.b)};
    }
    for (Index c = 0; c < logits.rows; ++c) sum += exp_tile(Tile(logits.row(c) + t) - maximum);
    maximum.store(statistics.row(0) + t);
    sum.store(statistics.row(1) + t);
    first.store(statistics.row(2) + t);
  }
}

void over_rows_backward(Matrix logits, Matrix statistics, Matrix gradient, float weight, bool add) {
  for (Index c = 0; c < logits.rows; ++c)
    for (Index t = 0; t < logits.cols; t += Tile::size) {
      const Tile e = exp_tile(Tile(logits.row(c) + t) - Tile(statistics.row(0) + t));
      put(gradient.row(c) + t, e * Tile(statistics.row(3) + t) * weight, add);
    }
}

}  // namespace

const CrossEntropy cross_entropy{over_columns, over_rows, over_rows_backward};

}  // namespace headlab::kernels::HEADLAB_ISA
