#pragma once
#include <array>
#include <string>
#include <vector>

namespace headlab {

/// What the best single head, or pool, makes of the four pairs of bits 00, 01, 10, 11 if it is to give 0, 1,
/// 1, 0.
struct ExclusiveOrFit {
  std::string aggregation;        ///< softmax, nap, non, sum, max
  std::string query;              ///< fixed: one for all pairs; own: the first token's; none: it pools
  std::array<double, 4> outputs;  ///< of the fit with the smallest mean squared error
  double mean_squared_error, largest_error;  ///< the smallest of each, of two fits
  int exact;                                 ///< the most pairs that one fit gives exactly
  double mean_squared_bound, largest_bound;  ///< what they are by algebra
};

/// arXiv 2005.09561: if all rows of weights have one sum, one head computes XOR only if that sum may be zero,
/// as nap's while its bias is 0. Rows of any sum (non) do, too, if the query is one of the two tokens.
///
/// The output for a pair is A(theta) v, with A the weights that the two tokens' values v get and theta what a
/// head can choose of them (its closure: weights of softmax may be 0 and 1). The best v for a theta is found
/// exactly: squares by projection; the largest error as its dual, max |l.t| over l with A'l = 0, |l|_1 = 1,
/// whose extreme points have at most rank + 1 entries. theta is searched over its whole range from a grid of
/// starts. For max theta are embeddings in the plane and v the readout.
std::vector<ExclusiveOrFit> exclusive_or();

}  // namespace headlab
