#include "core/collaborative/decomposition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/definitions/decomposition.hpp"
#include "tests/support/heads.hpp"

namespace headlab::test {
namespace {

Factors random_factors(const HeadWeights& w, std::size_t rank, unsigned seed) {
  std::mt19937 rng(seed);
  return {gaussian(w.query.shape[0], rank, rng), gaussian(w.query.shape[0], rank, rng),
          gaussian(w.heads, rank, rng)};
}
Settings settings(std::size_t dim) {
  Settings s;
  s.dim = dim;
  s.name = "layer.0";
  return s;
}
std::vector<double> column_norms(const Array<double>& a) {
  std::vector<double> norms(a.shape[1]);
  for (std::size_t k = 0; k < a.elements.size(); ++k) norms[k % norms.size()] += std::pow(a.elements[k], 2);
  for (double& x : norms) x = std::sqrt(x);
  return norms;
}

TEST(Decomposition, HasTheMttkrpOfTheDenseTensor) {
  for (const auto& [dim, heads, width, rank] :
       {std::array{7U, 3U, 2U, 4U}, {5U, 1U, 5U, 3U}, {3U, 4U, 2U, 9U}}) {
    const HeadWeights w = random_heads(dim, heads, width, 1);
    const Factors f = random_factors(w, rank, 2), is = mttkrp(w, f), wanted = dense_mttkrp(whole(w), f);
    EXPECT_LT(distance(wanted.query, is.query), 1e-12);
    EXPECT_LT(distance(wanted.key, is.key), 1e-12);
    EXPECT_LT(distance(wanted.mixing, is.mixing), 1e-12);
  }
}

TEST(Decomposition, MakesTheSweepsOfDenseLeastSquares) {
  const HeadWeights w = random_heads(6, 3, 4, 3);
  Settings s = settings(5);
  s.start = random_factors(w, 5, 4);
  s.sweeps = 4, s.tolerance = 0;
  Factors f = *s.start;
  for (int n = 0; n < s.sweeps; ++n) {
    f.query = solved(dense_mttkrp(whole(w), f).query, f.key, f.mixing);
    f.key = solved(dense_mttkrp(whole(w), f).key, f.query, f.mixing);
    f.mixing = solved(dense_mttkrp(whole(w), f).mixing, f.query, f.key);
  }
  const Decomposition d = decompose(w, s);
  EXPECT_LT(distance(whole(f), whole(d.factors)), 1e-8);
  EXPECT_EQ(d.errors.size(), 4U);
}

TEST(Decomposition, HasAnErrorThatNeverRises) {
  for (const auto& [accelerated, compatible] : {std::pair(false, false), {true, false}, {false, true}}) {
    Settings s = settings(6);
    s.accelerated = accelerated, s.compatible = compatible, s.tolerance = 0, s.sweeps = 60;
    const Decomposition d = decompose(random_heads(8, 3, 4, 5), s);
    ASSERT_EQ(d.errors.size(), compatible ? 100U : 60U);
    for (std::size_t n = 1; n < d.errors.size(); ++n) EXPECT_LE(d.errors[n], d.errors[n - 1] + 1e-9);
    EXPECT_LT(d.errors.back(), d.errors.front());
    EXPECT_EQ(d.errors.back(), d.error);
  }
}

/// By far, if it were let: to twice its value from these weights.
TEST(Decomposition, MomentumBeginsAnewBeforeTheErrorRises) {
  Settings s = settings(6);
  s.tolerance = 0, s.sweeps = 300;
  const Decomposition d = decompose(random_heads(8, 3, 4, 3), s);
  for (std::size_t n = 1; n < d.errors.size(); ++n) EXPECT_LE(d.errors[n], d.errors[n - 1] + 1e-9) << n;
}

TEST(Decomposition, TellsItsErrorWhichIsNotBelowTheFloor) {
  for (const Method method : {Method::als, Method::head_svd})
    for (const auto& [dim, heads, width, rank] :
         {std::array{9U, 3U, 3U, 4U}, {4U, 5U, 2U, 3U}, {6U, 6U, 1U, 2U}}) {
      const HeadWeights w = random_heads(dim, heads, width, 6);
      Settings s = settings(rank);
      s.method = method;
      const Decomposition d = decompose(w, s);
      EXPECT_NEAR(d.error, distance(whole(w), whole(d.factors)), 1e-7);
      EXPECT_NEAR(d.error, relative_error(w, d.factors), 1e-7);
      EXPECT_GE(d.error, d.floor);
      EXPECT_GT(d.floor, 0);
    }
}

/// Of one head T is a matrix, and nothing is better than its singular vectors.
TEST(Decomposition, OfOneHeadReachesTheFloor) {
  for (const Method method : {Method::als, Method::head_svd}) {
    Settings s = settings(3);
    s.method = method;
    const Decomposition d = decompose(random_heads(8, 1, 6, 7), s);
    EXPECT_NEAR(d.error, d.floor, 1e-7);
  }
}

/// Four heads that pick one element each of a 2 x 2 matrix: rank 2 by queries and keys, 4 by heads.
TEST(Decomposition, HasAFloorByHeadsToo) {
  const HeadWeights w{4, {{2, 4}, {1, 1, 0, 0, 0, 0, 1, 1}}, {{2, 4}, {1, 0, 1, 0, 0, 1, 0, 1}}};
  EXPECT_NEAR(decompose(w, settings(2)).floor, std::sqrt(.5), 1e-12);
  EXPECT_NEAR(decompose(w, settings(1)).floor, std::sqrt(.75), 1e-12);
}

/// Largest product of the three cosines between a planted component and one that was found.
double best_match(const Factors& planted, std::size_t r, const Factors& found) {
  double best = 0;
  const std::size_t rank = planted.query.shape[1];
  const auto cosine = [&](const Array<double>& a, const Array<double>& b, std::size_t q) {
    double ab = 0;
    for (std::size_t k = 0; k < a.shape[0]; ++k) ab += a.elements[k * rank + r] * b.elements[k * rank + q];
    return ab / column_norms(a)[r] / column_norms(b)[q];
  };
  for (std::size_t q = 0; q < rank; ++q)
    best = std::max(best, cosine(planted.query, found.query, q) * cosine(planted.key, found.key, q) *
                              cosine(planted.mixing, found.mixing, q));
  return best;
}

TEST(Decomposition, FindsPlantedFactors) {
  const std::size_t dim = 10, heads = 4, rank = 5;
  const Factors planted = random_factors(random_heads(dim, heads, 1, 0), rank, 8);
  HeadWeights w{heads, zeros(dim, heads * rank), zeros(dim, heads * rank)};
  for (std::size_t d = 0; d < dim; ++d)
    for (std::size_t i = 0; i < heads; ++i)
      for (std::size_t r = 0; r < rank; ++r) {
        w.query.elements[(d * heads + i) * rank + r] =
            planted.query.elements[d * rank + r] * planted.mixing.elements[i * rank + r];
        w.key.elements[(d * heads + i) * rank + r] = planted.key.elements[d * rank + r];
      }
  Settings s = settings(rank);
  s.tolerance = 1e-9;
  const Decomposition d = decompose(w, s);
  EXPECT_LT(relative_error(w, d.factors), 1e-5);
  EXPECT_LT(d.floor, 1e-7);
  for (std::size_t r = 0; r < rank; ++r) EXPECT_GT(best_match(planted, r, d.factors), 1 - 1e-6) << r;
}

TEST(Decomposition, IsExactFromAllFeaturesOn) {
  const HeadWeights w = random_heads(5, 3, 2, 9);
  for (const std::size_t dim : {6U, 9U})
    for (const Method method : {Method::als, Method::head_svd}) {
      Settings s = settings(dim);
      s.method = method;
      const Decomposition d = decompose(w, s);
      EXPECT_EQ(distance(whole(w), whole(d.factors)), 0);
      EXPECT_EQ(d.error, 0);
      EXPECT_TRUE(d.errors.empty());
      for (std::size_t k = 0; k < d.factors.mixing.elements.size(); ++k) {
        const std::size_t head = k / dim, r = k % dim;
        EXPECT_EQ(d.factors.mixing.elements[k], r / 2 == head ? 1 : 0);
        EXPECT_TRUE(r < 6 || (d.factors.query.elements[r] == 0 && d.factors.key.elements[r] == 0));
      }
    }
}

/// W_Q^(i) S_i, W_K^(i) S_i^-T with S_i an upper triangle of two features.
TEST(Decomposition, DoesNotDependOnTheBasisOfAHead) {
  const HeadWeights w = random_heads(7, 3, 2, 10);
  HeadWeights other = w;
  for (std::size_t d = 0; d < 7; ++d)
    for (std::size_t i = 0; i < 3; ++i) {
      const double stretch = 1 + static_cast<double>(i), shear = 2;
      double *q = &other.query.elements[(d * 3 + i) * 2], *k = &other.key.elements[(d * 3 + i) * 2];
      q[1] = stretch * q[1] + shear * q[0];
      k[1] /= stretch;
      k[0] -= shear * k[1];
    }
  ASSERT_LT(distance(whole(w), whole(other)), 1e-14);
  for (const Method method : {Method::als, Method::head_svd}) {
    Settings s = settings(4);
    s.method = method, s.starts = 0, s.sweeps = 30;
    EXPECT_LT(distance(whole(decompose(w, s).factors), whole(decompose(other, s).factors)), 1e-8);
  }
}

TEST(Decomposition, DoesNotDependOnScaleAndOrderOfAStartsComponents) {
  const HeadWeights w = random_heads(6, 3, 4, 11);
  Settings s = settings(4);
  s.sweeps = 10, s.start = random_factors(w, 4, 12);
  const Decomposition d = decompose(w, s);
  const auto changed = [](const Array<double>& a, const std::array<double, 4>& by) {
    Array<double> b = a;
    for (std::size_t k = 0; k < a.elements.size(); ++k)
      b.elements[k - k % 4 + (k + 1) % 4] = a.elements[k] * by[k % 4];
    return b;
  };
  const Factors& f = *s.start;
  s.start = Factors{changed(f.query, {2, -1, .5, 3}), changed(f.key, {1, 4, -1, .5}),
                    changed(f.mixing, {.5, -.25, -2, 2. / 3})};
  ASSERT_LT(distance(whole(f), whole(*s.start)), 1e-14);
  EXPECT_LT(distance(whole(d.factors), whole(decompose(w, s).factors)), 1e-7);
}

TEST(Decomposition, BalancesItsColumns) {
  for (const Method method : {Method::als, Method::head_svd}) {
    Settings s = settings(5);
    s.method = method;
    const Factors f = decompose(random_heads(8, 3, 3, 13), s).factors;
    const auto q = column_norms(f.query), k = column_norms(f.key), m = column_norms(f.mixing);
    for (std::size_t r = 0; r < 5; ++r) {
      EXPECT_NEAR(q[r] / m[r], 1, 1e-12);
      EXPECT_NEAR(k[r] / m[r], 1, 1e-12);
    }
  }
}

TEST(Decomposition, DependsOnSeedAndNameAlone) {
  const HeadWeights w = random_heads(8, 4, 4, 14);
  Settings s = settings(6);
  s.compatible = true;
  const Decomposition first = decompose(w, s), again = decompose(w, s);
  EXPECT_EQ(first.factors.query, again.factors.query);
  EXPECT_EQ(first.errors, again.errors);
  s.seed = 1;
  EXPECT_NE(decompose(w, s).errors, first.errors);
  s.seed = 0, s.name = "layer.1";
  EXPECT_NE(decompose(w, s).errors, first.errors);
}

TEST(Decomposition, IsBetterWithMomentumAndStarts) {
  const HeadWeights w = random_heads(12, 4, 6, 15);
  Settings s = settings(8);
  s.sweeps = 100, s.tolerance = 0, s.starts = 0;
  const double fast = decompose(w, s).error;
  s.accelerated = false;
  const double plain = decompose(w, s).error;
  EXPECT_LT(fast, plain);
  s.method = Method::head_svd;
  EXPECT_LT(plain, decompose(w, s).error);
}

/// In the metric diag(c^2) it is the decomposition of weights whose rows are multiplied by c.
TEST(Decomposition, InAMetricIsThatOfStretchedWeights) {
  const std::vector<double> c{1, 2, .5, 3, 1, .25};
  const HeadWeights w = random_heads(6, 3, 2, 16);
  HeadWeights stretched = w;
  for (std::size_t k = 0; k < w.query.elements.size(); ++k) {
    stretched.query.elements[k] *= c[k / 6];
    stretched.key.elements[k] *= c[k / 6];
  }
  Settings s = settings(3);
  const Decomposition wanted = decompose(stretched, s);
  s.metric = zeros(6, 6);
  for (std::size_t d = 0; d < 6; ++d) s.metric.elements[7 * d] = c[d] * c[d];
  Decomposition is = decompose(w, s);
  EXPECT_NEAR(is.error, wanted.error, 1e-9);
  EXPECT_NEAR(is.floor, wanted.floor, 1e-9);
  for (std::size_t k = 0; k < is.factors.query.elements.size(); ++k) {
    is.factors.query.elements[k] *= c[k / 3];
    is.factors.key.elements[k] *= c[k / 3];
  }
  EXPECT_LT(distance(whole(wanted.factors), whole(is.factors)), 1e-7);
}

TEST(Decomposition, TellsTheSmallestCongruence) {
  const Decomposition d = decompose(random_heads(6, 3, 4, 20), settings(5));
  const auto cosine = [](const Array<double>& a, std::size_t r, std::size_t q) {
    double ab = 0;
    for (std::size_t k = 0; k < a.shape[0]; ++k) ab += a.elements[k * 5 + r] * a.elements[k * 5 + q];
    return ab / column_norms(a)[r] / column_norms(a)[q];
  };
  double least = 1;
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t q = 0; q < r; ++q)
      least = std::min(least, cosine(d.factors.query, r, q) * cosine(d.factors.key, r, q) *
                                  cosine(d.factors.mixing, r, q));
  EXPECT_NEAR(d.congruence, least, 1e-9);
}

TEST(Decomposition, ComparesScores) {
  const HeadWeights w = random_heads(5, 2, 3, 17);
  const Factors f = decompose(w, settings(3)).factors;
  std::mt19937 rng(18);
  const Array<double> x = gaussian(4, 5, rng);
  Tensor3 t = whole(w), other = whole(f);
  double largest = 0;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t n = 0; n < 4; ++n)
      for (std::size_t m = 0; m < 4; ++m) {
        double sum = 0;
        for (std::size_t d = 0; d < 5; ++d)
          for (std::size_t e = 0; e < 5; ++e)
            sum += x.elements[n * 5 + d] * (t.at(i, d, e) - other.at(i, d, e)) * x.elements[m * 5 + e];
        largest = std::max(largest, std::abs(sum));
      }
  EXPECT_NEAR(largest_score_difference(w, f, x), largest, 1e-12 * largest);
}

TEST(Decomposition, RefusesWhatDoesNotFit) {
  const HeadWeights w = random_heads(4, 2, 2, 19);
  const auto refused = [](const HeadWeights& weights, const Settings& s) {
    EXPECT_THROW(decompose(weights, s), ConfigError);
  };
  refused(w, settings(0));
  refused({3, w.query, w.key}, settings(2));
  refused({2, w.query, random_heads(5, 2, 2, 1).key}, settings(2));
  refused({2, zeros(4, 4), w.key}, settings(2));
  HeadWeights broken = w;
  broken.key.elements[3] = NAN;
  refused(broken, settings(2));
  Settings s = settings(2);
  s.start = random_factors(w, 3, 1);
  refused(w, s);
  s.start = random_factors(w, 2, 1), s.metric = zeros(4, 4);
  refused(w, s);
}

}  // namespace
}  // namespace headlab::test
