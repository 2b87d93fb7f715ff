#pragma once
#include <array>
#include <string>
#include <vector>

#include "core/memory/matrix.hpp"

namespace headlab {

using Point = std::array<double, 2>;

/// The corners of the smallest convex polygon around points, counter-clockwise from the leftmost; those on an
/// edge are left out. A. M. Andrew, "Another efficient algorithm for convex hulls in two dimensions", 1979.
std::vector<Point> convex_hull(std::vector<Point> points);

/// How far a point lies outside of a convex polygon with its corners counter-clockwise; 0 inside.
double distance_outside(const std::vector<Point>& corners, const Point& point);

/// A point of the figure "output cage" of arXiv 2005.09561.
struct CagePoint {
  std::string kind;         ///< value; corner: of the values' convex hull; output
  std::string aggregation;  ///< of an output: softmax, nap, non, sum, mean, max; else empty
  Point at;
  double outside;  ///< distance from the hull, 0 inside
};

/// Where each aggregation can put its output: 8 values in the plane, standard normal and the same for all,
/// seen by one head from `outputs` (>= 1) queries, eight to a set of 8 keys. Queries and keys (D_k = 8) are
/// normal with deviations 1/2, 1 and 2 in turn, so that softmax's weights go from nearly equal to nearly all
/// for one value. Pools have one output each.
std::vector<CagePoint> output_cage(Index outputs, std::int64_t seed);

}  // namespace headlab
