#pragma once
// Kernels of attention. Scores of a head are (keys, queries): the queries of all sequences of a chunk lie in
// lanes, so that a sum over the N keys crosses no lanes. Padding columns must be finite; they are treated
// alike. attention.cpp is compiled once for each instruction set.
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// z = (l - mean) / (std + epsilon)    arXiv:2005.09561
///
/// mean and (population) standard deviation of a query are over the keys; statistics: two rows,
/// 1 / (std + epsilon) and 1 / std. Where std is 0, so is z, and no gradient goes through std.
struct Standardise {
  Matrix z, statistics;  ///< z holds l before forward
};

struct Attention {
  /// Writes a_j = exp(l_j) / sum_k exp(l_k) over l.    arXiv:1706.03762
  void (*softmax)(Matrix l);
  /// Writes dl = a (da - sum_k a_k da_k) over da.
  void (*softmax_backward)(Matrix a, Matrix da);

  void (*standardise)(Standardise v, float epsilon);
  /// For weights a = gain z + bias: writes dl over da, adds to the gradients of gain and bias. Padding of da
  /// must be zero.
  void (*standardise_backward)(Standardise v, Matrix da, float gain, float& dgain, float& dbias);
};

/// Over the tokens of a sequence. x, y: (features, tokens), sequences of `length` tokens one after another.
struct Pooling {
  /// y_t = scale sum_s x_s over the tokens s of t's sequence, or y += it. Its own backward.
  void (*sum)(Matrix x, Matrix y, Index length, float scale, bool add);
  /// y_t = max_s x_s.
  void (*max)(Matrix x, Matrix y, Index length);
  /// dx_s = sum_t dy_t at the first maximum of x, else 0; or dx += it.
  void (*max_backward)(Matrix x, Matrix dy, Matrix dx, Index length, bool add);
};
namespace v3 {
extern const Attention attention;
extern const Pooling pooling;
}  // namespace v3
namespace v4 {
extern const Attention attention;
extern const Pooling pooling;
}  // namespace v4

/// The widest set that this processor runs, as for rows().
const Attention& attention();
const Pooling& pooling();

}  // namespace headlab::kernels
