#pragma once
// Queries and keys that heads share, laid out as those of heads of their own. h: head, r: shared feature.
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// query_h,r = mixing(h, r) query_r, and one feature more, 1; key_h,r = key_r, and content_h.
///
/// query, key: (R, tokens), content: (M, tokens), mixing: (M, R); queries, keys: (M (R + 1), tokens), heads
/// one after another.    arXiv:2006.16362 3.3
struct MixedHeads {
  Matrix query, key, content, mixing, queries, keys;
};

struct SharedHeads {
  void (*mix)(MixedHeads v);
  /// d holds the gradients in the same fields: adds to that of `mixing`, and to those of query, key and
  /// content where `add` says so. Padding of the heads' gradients must be zero.
  void (*mix_backward)(MixedHeads v, MixedHeads d, bool add);
  /// y_r = sum over h of x_h,r, or y += it. x: (M R, tokens), y: (R, tokens).
  void (*sum)(Matrix x, Matrix y, bool add);
};
namespace v3 {
extern const SharedHeads shared_heads;
}
namespace v4 {
extern const SharedHeads shared_heads;
}
const SharedHeads& shared_heads();  ///< those of instruction_set()

}  // namespace headlab::kernels
