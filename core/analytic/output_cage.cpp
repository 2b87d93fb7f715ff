#include "core/analytic/output_cage.hpp"

#include <algorithm>
#include <cmath>

#include "core/analytic/single_head.hpp"
#include "core/base/random.hpp"

namespace headlab {
namespace {

constexpr Index count = 8;  // values, and features of a query
constexpr double deviations[]{.5, 1, 2};

/// Of the way from a over b to c: above 0 where it turns left.
double turn(const Point& a, const Point& b, const Point& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/// The lower half of the hull of sorted points, or, of points in reverse, the upper one; without its last
/// corner.
std::vector<Point> half_hull(const auto& points) {
  std::vector<Point> corners;
  for (const Point& p : points) {
    while (corners.size() > 1 && turn(corners.end()[-2], corners.back(), p) <= 0) corners.pop_back();
    corners.push_back(p);
  }
  corners.pop_back();
  return corners;
}

double distance_to_edge(const Point& a, const Point& b, const Point& p) {
  const double x = b[0] - a[0], y = b[1] - a[1], square = x * x + y * y;
  const double along = square > 0 ? std::clamp(((p[0] - a[0]) * x + (p[1] - a[1]) * y) / square, 0., 1.) : 0;
  return std::hypot(p[0] - a[0] - along * x, p[1] - a[1] - along * y);
}

std::vector<Point> draw_values(std::int64_t seed) {
  Stream stream(static_cast<std::uint64_t>(seed), Purpose::analytic, 0, 0);
  std::vector<Point> values(count);
  for (Point& p : values)
    for (double& x : p) x = static_cast<double>(static_cast<float>(stream.normal()));
  return values;
}

/// The same values in every sequence; queries and keys of their own.
void fill(SingleHead& head, const std::vector<Point>& values, std::int64_t seed) {
  const Matrix value = head.value();
  for (Index t = 0; t < value.cols; ++t)
    for (Index f = 0; f < 2; ++f)
      value(f, t) =
          static_cast<float>(values[static_cast<std::size_t>(t % count)][static_cast<std::size_t>(f)]);
  if (head.pools()) return;
  for (Index t = 0; t < value.cols; ++t) {
    Stream stream(static_cast<std::uint64_t>(seed), Purpose::analytic, 1, static_cast<std::uint64_t>(t));
    const double deviation = deviations[t / count % std::ssize(deviations)];
    for (const Matrix& m : {head.query(), head.key()})
      for (Index f = 0; f < count; ++f) m(f, t) = static_cast<float>(deviation * stream.normal());
  }
}

struct Entry {
  const char* name;
  Architecture architecture;
  double share;  // of what the layer gives, mean: 1 / N of the sum
};
constexpr Entry entries[]{{"softmax", Architecture::mte, 1},       {"nap", Architecture::nap, 1},
                          {"non", Architecture::non, 1},           {"sum", Architecture::sum, 1},
                          {"mean", Architecture::sum, 1. / count}, {"max", Architecture::max, 1}};

std::vector<Point> outputs_of(const Entry& entry, const std::vector<Point>& values, Index outputs,
                              std::int64_t seed) {
  const bool pools = aggregation(entry.architecture).pools;
  SingleHead head(entry.architecture, {count, pools ? 1 : (outputs + count - 1) / count}, count, 2);
  fill(head, values, seed);
  const Matrix y = head.forward();
  std::vector<Point> points;
  for (Index t = 0; t < (pools ? 1 : outputs); ++t)
    points.push_back(
        {entry.share * static_cast<double>(y(0, t)), entry.share * static_cast<double>(y(1, t))});
  return points;
}

}  // namespace

std::vector<Point> convex_hull(std::vector<Point> points) {
  std::ranges::sort(points);
  points.erase(std::ranges::unique(points).begin(), points.end());
  if (points.size() < 3) return points;
  std::vector<Point> corners = half_hull(points);
  std::ranges::copy(half_hull(points | std::views::reverse), std::back_inserter(corners));
  return corners;
}

double distance_outside(const std::vector<Point>& corners, const Point& point) {
  bool inside = corners.size() > 2;
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < corners.size(); ++k) {
    const Point &a = corners[k], &b = corners[(k + 1) % corners.size()];
    inside = inside && turn(a, b, point) >= 0;
    nearest = std::min(nearest, distance_to_edge(a, b, point));
  }
  return inside ? 0 : nearest;
}

std::vector<CagePoint> output_cage(Index outputs, std::int64_t seed) {
  require(outputs >= 1, "the cage needs an output or more, not {}", outputs);
  const std::vector<Point> values = draw_values(seed), hull = convex_hull(values);
  std::vector<CagePoint> all;
  const auto add = [&](const char* kind, const char* name, const Point& at) {
    all.push_back({kind, name, at, distance_outside(hull, at)});
  };
  for (const Point& p : values) add("value", "", p);
  for (const Point& p : hull) add("corner", "", p);
  for (const Entry& entry : entries)
    for (const Point& p : outputs_of(entry, values, outputs, seed)) add("output", entry.name, p);
  return all;
}

}  // namespace headlab
