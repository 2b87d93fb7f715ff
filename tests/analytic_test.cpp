#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/analytic/at_start.hpp"
#include "core/analytic/exclusive_or.hpp"
#include "core/analytic/output_cage.hpp"
#include "core/base/error.hpp"

namespace headlab::test {
namespace {

/// Measured at d = 128 for the figure of arXiv 2005.09561, to three digits.
const std::map<std::string, std::map<Index, double>> published{
    {"softmax", {{1, .999}, {8, .482}, {32, .270}, {128, .142}, {512, .073}, {2048, .036}}},
    {"mean", {{1, .999}, {8, .354}, {32, .177}, {128, .088}, {512, .044}, {2048, .022}}},
    {"sum", {{1, 1.00}, {8, 2.83}, {32, 5.66}, {128, 11.3}, {512, 22.7}, {2048, 45.0}}},
    {"max", {{1, .999}, {8, .612}, {32, .492}, {128, .421}, {512, .372}, {2048, .326}}},
    {"normalised", {{1, 1}, {8, 1}, {32, 1}, {128, 1}, {512, 1}, {2048, 1}}},
    {"nap", {{1, 0}, {8, 2.83}, {32, 5.65}, {128, 11.3}, {512, 22.6}, {2048, 45.3}}},
    {"non", {{1, 1}, {8, 1}, {32, 1}, {128, 1}, {512, 1}, {2048, 1}}}};

/// Theirs have an error like ours, pooled ones, of few sequences, up to 3 %; and half a unit of the last
/// digit.
void expect_published(const std::vector<Index>& lengths) {
  const auto sizes = sizes_at_start(lengths, 16, 0);
  EXPECT_EQ(sizes.size(), published.size() * lengths.size());
  for (const SizeAtStart& s : sizes) {
    const bool pooled = s.aggregation == "sum" || s.aggregation == "mean" || s.aggregation == "max";
    const double known = published.at(s.aggregation).at(s.length);
    EXPECT_NEAR(s.deviation, known,
                4 * std::sqrt(2) * s.deviation_error + std::max(5e-4, (pooled ? .03 : 2e-3) * known))
        << s.aggregation << " of " << s.length;
  }
}
TEST(SizesAtStart, AreAsPublished) { expect_published({1, 8, 32, 128}); }
TEST(SizesAtStartSlow, AreAsPublishedForLongSequences) { expect_published({512, 2048}); }

/// Up to epsilon, 1e-3; softmax: its limit for large N.
TEST(SizesAtStart, HaveClosedForms) {
  for (const SizeAtStart& s : sizes_at_start({1, 3, 64}, 8, 1)) {
    const bool is_limit = s.aggregation == "softmax";
    if (is_limit && s.length < 64) continue;
    const double allowed = is_limit ? 4 / double(s.length) : 2e-3;
    EXPECT_NEAR(s.deviation, s.closed_form, 4 * s.deviation_error + allowed * s.closed_form)
        << s.aggregation << " of " << s.length;
    if (s.aggregation == "max") continue;  // its mean is not 0
    EXPECT_LE(s.norm, s.deviation * std::sqrt(128) * (1 + 1e-2)) << "the mean is below the root mean square";
  }
}

TEST(SizesAtStart, AreTheSameForASeed) {
  const auto once = sizes_at_start({8}, 2, 3), again = sizes_at_start({8}, 2, 3),
             other = sizes_at_start({8}, 2, 4);
  for (std::size_t k = 0; k < once.size(); ++k) {
    EXPECT_EQ(once[k].deviation, again[k].deviation);
    EXPECT_NE(once[k].deviation, other[k].deviation);
  }
  EXPECT_THROW(sizes_at_start({8}, 1, 0), ConfigError);
}

/// The largest of two has variance 1 - 1/pi; of three 1 + sqrt(3)/(2 pi) - 9/(4 pi).
TEST(DeviationOfLargest, IsKnownForFew) {
  EXPECT_NEAR(deviation_of_largest(1), 1, 1e-6);
  EXPECT_NEAR(deviation_of_largest(2), std::sqrt(1 - 1 / M_PI), 1e-6);
  EXPECT_NEAR(deviation_of_largest(3), std::sqrt(1 + std::sqrt(3) / (2 * M_PI) - 9 / (4 * M_PI)), 1e-6);
}

TEST(ExclusiveOrFits, MeetTheirBounds) {
  const auto fits = exclusive_or();
  EXPECT_EQ(fits.size(), 8U);
  for (const ExclusiveOrFit& f : fits) {
    SCOPED_TRACE(f.aggregation + ", query " + f.query);
    EXPECT_NEAR(f.mean_squared_error, f.mean_squared_bound, 1e-9);
    EXPECT_NEAR(f.largest_error, f.largest_bound, 1e-9);
    EXPECT_EQ(f.exact, f.largest_bound == 0 ? 4 : 3);
    const std::array<double, 4> wanted{0, 1, 1, 0};
    double squares = 0;
    for (std::size_t p = 0; p < 4; ++p) squares += std::pow(f.outputs[p] - wanted[p], 2) / 4;
    EXPECT_NEAR(squares, f.mean_squared_error, 1e-12) << "of the outputs that are told";
  }
}

TEST(ExclusiveOrFits, KnowWhichAggregationsCan) {
  std::map<std::string, bool> can;
  for (const ExclusiveOrFit& f : exclusive_or()) can[f.aggregation + " " + f.query] = f.exact == 4;
  const std::map<std::string, bool> known{
      {"softmax fixed", false}, {"softmax own", false}, {"nap fixed", true}, {"nap own", true},
      {"non fixed", false},     {"non own", true},      {"sum none", false}, {"max none", true}};
  EXPECT_EQ(can, known);
}

const std::vector<Point> square{{0, 0}, {2, 0}, {2, 2}, {0, 2}};

TEST(ConvexHull, LeavesOutWhatLiesInsideOrOnAnEdge) {
  EXPECT_EQ(convex_hull({{1, 1}, {2, 2}, {0, 0}, {1, 0}, {0, 2}, {2, 0}, {2, 1}, {0, 0}}), square);
  EXPECT_EQ(convex_hull({{3, 1}, {1, 1}, {2, 1}}), (std::vector<Point>{{1, 1}, {3, 1}}));
  EXPECT_EQ(convex_hull({{3, 1}}), (std::vector<Point>{{3, 1}}));
}

TEST(ConvexHull, KnowsHowFarOutsideAPointLies) {
  EXPECT_EQ(distance_outside(square, {1, 1.5}), 0);
  EXPECT_EQ(distance_outside(square, {2, 1}), 0);
  EXPECT_EQ(distance_outside(square, {5, 1}), 3);
  EXPECT_EQ(distance_outside(square, {5, 6}), 5);
  EXPECT_EQ(distance_outside({{1, 1}, {3, 1}}, {2, 4}), 3);
}

TEST(OutputCage, HoldsConvexCombinationsOnly) {
  std::map<std::string, std::vector<CagePoint>> of;
  for (const CagePoint& p : output_cage(100, 0)) of[p.kind + p.aggregation].push_back(p);
  EXPECT_EQ(of["value"].size(), 8U);
  for (const char* inside : {"outputsoftmax", "outputmean"})
    for (const CagePoint& p : of[inside]) EXPECT_LT(p.outside, 1e-6) << inside;
  for (const char* pool : {"outputsum", "outputmean", "outputmax"}) EXPECT_EQ(of[pool].size(), 1U);
  for (const char* free : {"outputnap", "outputnon"}) {
    EXPECT_EQ(of[free].size(), 100U);
    EXPECT_GT(std::ranges::count_if(of[free], [](const CagePoint& p) { return p.outside > .1; }), 20) << free;
  }
}

TEST(OutputCage, PoolsWhatIsThere) {
  Point sum{}, largest{-1e9, -1e9};
  std::map<std::string, Point> of;
  for (const CagePoint& p : output_cage(1, 5)) {
    of[p.aggregation] = p.at;
    for (std::size_t f = 0; p.kind == "value" && f < 2; ++f) {
      sum[f] += p.at[f];
      largest[f] = std::max(largest[f], p.at[f]);
    }
  }
  for (std::size_t f = 0; f < 2; ++f) {
    EXPECT_NEAR(of["sum"][f], sum[f], 1e-5);
    EXPECT_NEAR(of["mean"][f], sum[f] / 8, 1e-6);
    EXPECT_EQ(of["max"][f], largest[f]);
  }
}

}  // namespace
}  // namespace headlab::test
