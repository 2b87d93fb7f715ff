#include "core/analytic/output_cage.hpp"

#include <boost/geometry.hpp>
#include <boost/geometry/geometries/adapted/std_array.hpp>
#include <boost/geometry/geometries/multi_point.hpp>
#include <boost/geometry/geometries/polygon.hpp>

#include "core/analytic/single_head.hpp"
#include "core/base/random.hpp"

BOOST_GEOMETRY_REGISTER_STD_ARRAY_CS(cs::cartesian)

namespace headlab {
namespace {

namespace geometry = boost::geometry;
using Polygon = geometry::model::polygon<Point, false, false>;  // counter-clockwise, not closed

constexpr Index count = 8;  // values, and features of a query
constexpr double deviations[]{.5, 1, 2};

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

std::vector<CagePoint> output_cage(Index outputs, std::int64_t seed) {
  require(outputs >= 1, "the cage needs an output or more, not {}", outputs);
  const std::vector<Point> values = draw_values(seed);
  Polygon hull;
  geometry::convex_hull(geometry::model::multi_point<Point>(values.begin(), values.end()), hull);
  std::vector<CagePoint> all;
  const auto add = [&](const char* kind, const char* name, const Point& at) {
    all.push_back({kind, name, at, geometry::distance(at, hull)});
  };
  for (const Point& p : values) add("value", "", p);
  for (const Point& p : hull.outer()) add("corner", "", p);
  for (const Entry& entry : entries)
    for (const Point& p : outputs_of(entry, values, outputs, seed)) add("output", entry.name, p);
  return all;
}

}  // namespace headlab
