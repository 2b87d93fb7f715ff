#include "tests/support/variant.hpp"

namespace headlab::test {
namespace {

/// With values that are unit vectors, o_i are the weights of query i.
TEST(Normalised, RowsHaveMeanBiasAndDeviationGain) {
  constexpr Index N = 12;
  constexpr float gain = 1.25F, bias = -.5F;
  for (const float scale : {1.F, .02F}) {
    Alone nap(Architecture::nap, {N, 2}, 1, 3, N);
    std::mt19937 rng(1);
    fill(nap.input(0), rng, scale);
    fill(nap.input(1), rng, scale);
    for (Index j = 0; j < N; ++j)
      for (Index t = 0; t < 2 * N; ++t) nap.input(2)(j, t) = j == t % N;
    nap.set_nap(gain, bias);
    nap.plan.forward();
    for (Index i = 0; i < 2 * N; ++i) {
      double sum = 0, squares = 0, mean = 0, square = 0;
      for (Index j = 0; j < N; ++j) {
        double l = 0;
        for (Index f = 0; f < 3; ++f)
          l += double(nap.input(0)(f, i)) * double(nap.input(1)(f, i / N * N + j));
        mean += l / N;
        square += l * l / N;
        sum += nap.output()(j, i);
        squares += std::pow(double(nap.output()(j, i)) - double(bias), 2) / N;
      }
      const double deviation = std::sqrt(square - mean * mean);
      EXPECT_NEAR(sum, N * bias, 1e-5);
      EXPECT_NEAR(std::sqrt(squares), gain * deviation / (deviation + 1e-3), 2e-6);
    }
  }
}

TEST(Normalised, OfOneTokenIsZeroAtTheStart) {
  Alone nap(Architecture::nap, {1, 3}, 2, 4, 4);
  std::mt19937 rng(1);
  nap.fill_inputs(rng);
  nap.set_nap(1, 0);
  nap.plan.forward();
  for (const double y : read(nap.output()).data) EXPECT_EQ(y, 0);
}

/// Four sequences of two tokens, the bits 00, 01, 10, 11: token t is the value of[f][bit] of feature f.
constexpr Chunk patterns{2, 4};
constexpr Index bit(Index t) { return (t % 2 ? t / 2 : t / 4) % 2; }
constexpr double exclusive_or(Index t) { return bit(t / 2 * 2) != bit(t / 2 * 2 + 1); }
void set_by_bit(const Matrix& m, const std::vector<std::array<float, 2>>& of) {
  for (Index f = 0; f < m.rows; ++f)
    for (Index t = 0; t < m.cols; ++t)
      m(f, t) = of[static_cast<std::size_t>(f)][static_cast<std::size_t>(bit(t))];
}

TEST(ExclusiveOr, IsOneHeadOfNap) {
  Alone nap(Architecture::nap, patterns, 1, 1, 1);
  set_by_bit(nap.input(0), {{1, 1}});
  set_by_bit(nap.input(1), {{0, 1}});
  set_by_bit(nap.input(2), {{0, 1.002F}});  // the deviation 1/2 plus epsilon, over 1/2
  nap.set_nap(1, 0);
  nap.plan.forward();
  for (Index t = 0; t < 8; ++t) EXPECT_NEAR(nap.output()(0, t), exclusive_or(t), 1e-6) << t;
}

/// Logits of unequal tokens alone, q_a . k_b = sqrt(2) [a != b] before the scales 1/sqrt(2) of d_h and of N.
TEST(ExclusiveOr, IsOneHeadOfNonIfItsQueryIsAToken) {
  Alone non(Architecture::non, patterns, 1, 2, 1);
  set_by_bit(non.input(0), {{1, 0}, {0, 1}});
  set_by_bit(non.input(1), {{0, 2}, {2, 0}});
  set_by_bit(non.input(2), {{1, 1}});
  non.plan.forward();
  for (Index t = 0; t < 8; ++t) EXPECT_NEAR(non.output()(0, t), exclusive_or(t), 1e-6) << t;
}

TEST(ExclusiveOr, IsAMaximumOfTwoFeatures) {
  Alone most(Architecture::max, patterns, 1, 1, 2);
  set_by_bit(most.input(0), {{1, 0}, {0, 1}});
  most.plan.forward();
  for (Index t = 0; t < 8; ++t)
    EXPECT_EQ(most.output()(0, t) + most.output()(1, t) - 1, exclusive_or(t)) << t;
}

/// 01 lies between 00 and 11, so that one of them is wrong by 1/2: with weights that sum to one, and in a
/// sum.
TEST(ExclusiveOr, IsBeyondSoftmaxAndSum) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (const auto name : {Architecture::mte, Architecture::sum}) {
    Alone variant(name, patterns, 1, 2, 1);
    for (int draw = 0; draw < 200; ++draw) {
      for (std::size_t k = 0; k < variant.inputs.size(); ++k)
        set_by_bit(variant.input(k), {{normal(rng), normal(rng)}, {3 * normal(rng), 3 * normal(rng)}});
      variant.plan.forward();
      double worst = 0;
      for (Index t = 0; t < 8; ++t)
        worst = std::max(worst, std::abs(variant.output()(0, t) - exclusive_or(t)));
      EXPECT_GE(worst, .5 - 1e-6) << word(name);
    }
  }
}

}  // namespace
}  // namespace headlab::test
