// Elementary functions and flat loops against double. lanes.hpp is compiled here for the compiler's default
// instruction set, in a namespace of its own.
#define HEADLAB_ISA baseline
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "core/kernels/lanes/lanes.hpp"
#include "core/kernels/optimiser.hpp"
#include "core/kernels/rows.hpp"
#include "core/memory/ledger.hpp"

namespace headlab::kernels {
namespace {

using baseline::Vec;

/// from, from + step, ... below `to`.
std::vector<float> grid(float from, float to, float step) {
  std::vector<float> x(std::size_t((to - from) / step));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = from + step * float(k);
  return x;
}
float exp2(float x) { return baseline::exp2(Vec(x))[0]; }
float exp(float x) { return baseline::exp(Vec(x))[0]; }

TEST(Exp2, HasARelativeErrorOf2e7) {
  for (const float x : grid(-125.9F, 127.9F, 0.00317F))
    ASSERT_NEAR(exp2(x) / std::exp2(double{x}), 1, 2e-7) << x;
  for (const float x : grid(-126, 128, 1)) ASSERT_EQ(exp2(x), std::ldexp(1.F, int(x))) << x;
}

TEST(Exp2, StopsAtTheSmallestNormalNumber) {
  for (const float x : {-126.F, -127.F, -1e9F, -INFINITY}) EXPECT_EQ(exp2(x), 0x1p-126F) << x;
}

TEST(Exp2, OfNaNIsNaN) {
  volatile float nan = NAN;  // computed when run
  EXPECT_TRUE(std::isnan(exp2(nan)));
}

TEST(Exp, HasARelativeErrorThatGrowsWithItsArgument) {
  for (const float x : grid(-87, 88, 0.00317F))
    ASSERT_NEAR(exp(x) / std::exp(double{x}), 1, 2e-7 + 1e-7 * std::abs(x)) << x;
  EXPECT_EQ(exp(0), 1);
}

/// Values and slopes at x, by the kernel of the instruction set in use.
struct GeluTable {
  Block x, y, slope;
  explicit GeluTable(const std::vector<float>& at) : x(room(at)), y(x), slope(x) {
    std::ranges::copy(at, x.begin());
    const auto row = [&](Block& b) { return Matrix{b.data(), 1, std::ssize(at), std::ssize(b)}; };
    rows().gelu({row(x), Matrix{}, row(y), row(slope)});
  }
  static Block room(const std::vector<float>& at) { return Block((at.size() + 31) / 32 * 32); }
};

TEST(Gelu, IsWithin3e7OfDouble) {
  const std::vector<float> at = grid(-12, 12, 0.0013F);
  const GeluTable got(at);
  const double c = std::sqrt(2 / std::numbers::pi), k = 0.044715;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double x = at[i], th = std::tanh(c * (x + k * x * x * x));
    const double slope = 0.5 * (1 + th) + 0.5 * x * (1 - th * th) * c * (1 + 3 * k * x * x);
    ASSERT_NEAR(got.y[i], 0.5 * x * (1 + th), 3e-7 * std::max(1., std::abs(x))) << x;
    ASSERT_NEAR(got.slope[i], slope, 3e-7) << x;
  }
}

TEST(Gelu, IsZeroOrTheIdentityFarOut) {
  const GeluTable got({-1e4F, -100, -20, 20, 100, 1e4F, NAN});
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_NEAR(got.y[i], 0, 1e-30);
    EXPECT_NEAR(got.slope[i], 0, 1e-25);
  }
  for (const std::size_t i : {3U, 4U, 5U}) {
    EXPECT_EQ(got.y[i], got.x[i]);
    EXPECT_EQ(got.slope[i], 1);
  }
  EXPECT_TRUE(std::isnan(got.y[6]) && std::isnan(got.slope[6]));
}

TEST(Adam, IsTheFormulaInDouble) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  for (const std::size_t n : {1U, 7U, 16U, 100U}) {
    std::vector<float> w(n), g(n), m(n), v(n);
    for (std::size_t k = 0; k < n; ++k) {
      w[k] = normal(rng);
      m[k] = 1e-3F * normal(rng);
      v[k] = 1e-6F * std::abs(normal(rng));
      g[k] = k % 5 ? 1e-3F * normal(rng) : 0;
    }
    v[0] = m[0] = g[0] = 0;  // what no gradient has reached stays
    const auto w0 = w, m0 = m, v0 = v;
    optimiser().adam(w.data(), g.data(), m.data(), v.data(), std::ssize(w), {.rate = 1e-2});
    EXPECT_EQ(w[0], w0[0]);
    for (std::size_t k = 0; k < n; ++k) {
      const double m1 = 0.9 * m0[k] + 0.1 * g[k], v1 = 0.999 * v0[k] + 0.001 * double{g[k]} * g[k];
      ASSERT_NEAR(m[k], m1, 1e-6 * (std::abs(m0[k]) + std::abs(g[k]))) << k;
      ASSERT_NEAR(v[k], v1, 3e-7 * v1) << k;
      const double step = 1e-2 * m1 / (std::sqrt(v1) + 1e-7);
      ASSERT_NEAR(w[k], w0[k] - step, 1e-7 * std::abs(w0[k]) + 1e-6 * std::abs(step)) << k;
    }
  }
}

TEST(Adam, HasItsEpsilonOutsideTheRoot) {
  float w = 0, m = 0, v = 0;
  const float g = 1e-7F;  // sqrt(v) = 1e-7 sqrt(0.001): epsilon decides
  optimiser().adam(&w, &g, &m, &v, 1, {.rate = 1});
  EXPECT_NEAR(w, -1e-8 / (1e-7 * std::sqrt(0.001) + 1e-7), 1e-7);
}

TEST(SumOfSquares, IsThatOfDoublesOverTheColumnsOnly) {
  std::mt19937 rng(4);
  std::normal_distribution<float> normal;
  for (const Index cols : {1, 3, 8, 37}) {
    std::vector<float> data(3 * 40, 100.F);
    const Matrix m{data.data() + 1, 3, cols, 39};
    double want = 0;
    for (Index r = 0; r < m.rows; ++r)
      for (Index c = 0; c < m.cols; ++c) {
        m(r, c) = (r == 1 ? 1e25F : 1e-3F) * normal(rng);  // squares that float cannot hold
        want += double{m(r, c)} * double{m(r, c)};
      }
    EXPECT_NEAR(optimiser().sum_of_squares(m), want, 1e-14 * want);
  }
}

}  // namespace
}  // namespace headlab::kernels
