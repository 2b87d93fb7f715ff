#include "core/collaborative/spectrum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/heads.hpp"

namespace headlab::test {
namespace {

using namespace collaborative;

const Energy& of(const std::vector<Energy>& all, const std::string& kind, std::int64_t head) {
  return *std::ranges::find_if(all, [&](const Energy& e) { return e.kind == kind && e.head == head; });
}
/// c(j) of singular values, in any order.
std::vector<double> energies(std::vector<double> s) {
  std::ranges::sort(s, std::greater());
  double all = 0, sum = 0;
  for (const double x : s) all += x * x;
  for (double& x : s) sum += x * x, x = sum / all;
  return s;
}
void expect_near(const std::vector<double>& is, const std::vector<double>& wanted) {
  ASSERT_EQ(is.size(), wanted.size());
  for (std::size_t j = 0; j < is.size(); ++j) EXPECT_NEAR(is[j], wanted[j], 1e-12) << j;
}

/// Head i has columns s e_(2i), t e_(2i+1) for queries and u e_0, v e_1 for keys.
TEST(Spectrum, IsThatOfKnownSingularValues) {
  const HeadWeights w{2,
                      {{4, 4}, {3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 5}},
                      {{4, 4}, {1, 0, 4, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0}}};
  const auto all = spectrum(w);
  EXPECT_EQ(all.size(), 2U * 3 + 6);
  expect_near(of(all, "head_query", 0).cumulative, energies({3, 1}));
  expect_near(of(all, "head_query", 1).cumulative, energies({2, 5}));
  expect_near(of(all, "head_key", 1).cumulative, energies({4, 3}));
  expect_near(of(all, "head_product", 0).cumulative, energies({3, 2}));
  expect_near(of(all, "head_product", 1).cumulative, energies({8, 15}));
  expect_near(of(all, "query", -1).cumulative, energies({3, 1, 2, 5}));
  expect_near(of(all, "key", -1).cumulative, energies({std::sqrt(17), std::sqrt(13), 0, 0}));
  // the sum has rows 3 e_0, 2 e_1, 8 e_0, 15 e_1; T's unfolding by queries has the same rows apart
  expect_near(of(all, "product", -1).cumulative, energies({std::sqrt(73), std::sqrt(229), 0, 0}));
  expect_near(of(all, "unfolding_query", -1).cumulative, energies({3, 2, 8, 15}));
  expect_near(of(all, "unfolding_key", -1).cumulative, energies({std::sqrt(73), std::sqrt(229), 0, 0}));
  expect_near(of(all, "unfolding_heads", -1).cumulative, energies({std::sqrt(13), 17}));
}

/// Shares of the top third that a numerical experiment of another program gives: .745, .87, .785.
TEST(Spectrum, OfRandomWeightsIsInItsBand) {
  const auto bands = random_band(128, 128, 4, 2, 1);
  const auto third = [&](const char* kind) {
    const auto band = std::ranges::find(bands, kind, &Band::kind);
    EXPECT_LT(at_share(band->low, 1. / 3), at_share(band->high, 1. / 3));
    return (at_share(band->low, 1. / 3) + at_share(band->high, 1. / 3)) / 2;
  };
  EXPECT_NEAR(third("query"), .745, .01);
  EXPECT_NEAR(third("product"), .87, .01);
  EXPECT_NEAR(third("unfolding_query"), .785, .01);
  EXPECT_NEAR(third("unfolding_key"), .785, .01);
}

TEST(Spectrum, OfABandHoldsItsDraws) {
  const auto one = random_band(6, 4, 2, 1, 3), three = random_band(6, 4, 2, 3, 3);
  ASSERT_EQ(one.size(), 9U);
  ASSERT_EQ(three.size(), 9U);
  for (std::size_t k = 0; k < one.size(); ++k)
    for (std::size_t j = 0; j < one[k].low.size(); ++j) {
      EXPECT_LE(three[k].low[j], one[k].low[j]);
      EXPECT_GE(three[k].high[j], one[k].high[j]);
    }
  EXPECT_LT(three[3].low[0], three[3].high[0]);
  EXPECT_NE(random_band(6, 4, 2, 1, 4)[3].low, one[3].low);
}

TEST(Spectrum, HasAsManyDimensionsAsThereCanBe) {
  const auto all = spectrum(random_heads(3, 2, 4, 5));
  EXPECT_EQ(of(all, "head_query", 0).cumulative.size(), 3U);
  EXPECT_EQ(of(all, "query", -1).cumulative.size(), 3U);
  EXPECT_EQ(of(all, "unfolding_heads", -1).cumulative.size(), 2U);
  for (const Energy& e : all) EXPECT_NEAR(e.cumulative.back(), 1, 1e-12);
}

TEST(Spectrum, IsReadBetweenDimensions) {
  EXPECT_NEAR(at_share({.5, .8, 1}, 1. / 3), .5, 1e-15);
  EXPECT_NEAR(at_share({.5, .8, 1}, .5), .65, 1e-15);
  EXPECT_NEAR(at_share({.6, 1}, .25), .3, 1e-15);
  EXPECT_EQ(at_share({.6, 1}, 1), 1);
}

}  // namespace
}  // namespace headlab::test
