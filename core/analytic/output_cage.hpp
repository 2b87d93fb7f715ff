#pragma once
#include <array>
#include <string>
#include <vector>

#include "core/memory/matrix.hpp"

namespace headlab {

using Point = std::array<double, 2>;

/// A point of the figure "output cage" of arXiv 2005.09561.
struct CagePoint {
  std::string kind;         ///< value; corner: of the values' convex hull; output
  std::string aggregation;  ///< of an output: softmax, nap, non, sum, mean, max; else empty
  Point at;
  double outside;  ///< distance from the convex hull of the values, 0 inside
};

/// Where each aggregation can put its output: 8 values in the plane, standard normal and the same for all,
/// seen by one head from `outputs` (>= 1) queries, eight to a set of 8 keys. Queries and keys (D_k = 8) are
/// normal with deviations 1/2, 1 and 2 in turn, so that softmax's weights go from nearly equal to nearly all
/// for one value. Pools have one output each.
std::vector<CagePoint> output_cage(Index outputs, std::int64_t seed);

}  // namespace headlab
