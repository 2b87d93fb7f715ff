#pragma once
// Kernels of softmax attention by head and sequence.    arXiv:1706.03762
//
// l_ij = scale q_i . k_j; m_i: the largest of a query's logits; e_ij = exp(l_ij - m_i), r_i = 1 / sum_j e_ij,
// so that its weights are a_ij = e_ij r_i. d_h: features of a head.
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// Of one head and sequence: queries, keys and values (d_h, N), statistics two rows, m and r, which begin and
/// end anywhere; columns beyond their own stay untouched. Exponentials e, (N, N), (keys, queries), where they
/// are kept: there N is a multiple of 32, and all begin on lines.
struct SoftmaxHead {
  Matrix query, key, value, statistics, exponentials;
  float scale;
};

/// The gradient of y times r, (d_h, tokens), and r times the mean of the weights' gradients, (1, tokens): the
/// sum over a head's features of y and its gradient.
struct SoftmaxSlopes {
  Matrix dy, mean;
};

/// Heads so narrow that a block of queries or keys and its sums stay in registers: of queries and values
/// alike 1 to `widest` features.
struct NarrowSoftmax {
  static constexpr Index widest = 4;
  /// y_i = sum_j a_ij v_j, (d_h, N), the statistics and, if they are kept, exponentials.
  void (*forward)(SoftmaxHead x, Matrix y);
  /// Writes the gradients of queries, keys and values, or adds to them. scratch: scratch(d_h, N) floats.
  void (*backward)(SoftmaxHead x, SoftmaxSlopes slopes, SoftmaxHead dx, bool add, float* scratch);
  static constexpr Index scratch(Index d_h, Index n) { return 2 * d_h * n * 16; }
};

/// What is done between the products of wider heads. Matrices begin on a line; whole lines are written.
struct WideSoftmax {
  /// Writes e = exp(l - m) over l, (keys, queries), and its queries' m and r, which begin anywhere.
  void (*weigh)(Matrix l, float* m, float* r);
  /// Writes e over l, (queries, keys), where m is known.
  void (*weigh_again)(Matrix l, const float* m);
  /// Writes dl = e (da - mean) over da, (queries, keys).
  void (*backward)(Matrix e, Matrix da, const float* mean);
  /// The same of (keys, queries), columns a multiple of 32.
  void (*backward_kept)(Matrix e, Matrix da, const float* mean);
  /// y = r y, (d_h, tokens).
  void (*share)(Matrix y, const float* r);
  /// From y and its gradient, (d_h, tokens).
  void (*slopes)(Matrix y, Matrix dy, const float* r, SoftmaxSlopes slopes);
};
namespace v3 {
extern const NarrowSoftmax narrow_softmax;
extern const WideSoftmax wide_softmax;
}  // namespace v3
namespace v4 {
extern const NarrowSoftmax narrow_softmax;
extern const WideSoftmax wide_softmax;
}  // namespace v4

/// Those of instruction_set().
const NarrowSoftmax& narrow_softmax();
const WideSoftmax& wide_softmax();

}  // namespace headlab::kernels
