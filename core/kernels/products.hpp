#pragma once
// Products of small matrices, tokens in lanes: of heads and of narrow layers, where a general product would
// cost more for its call than for its work. Matrices begin and end anywhere; columns beyond their own stay
// untouched.
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

struct Products {
  /// y = scale w^T x, or y += it. w: (in, out), or, `transposed`, (out, in) for y = scale w x; x: (in,
  /// tokens), y: (out, tokens).
  void (*map)(Matrix w, bool transposed, Matrix x, Matrix y, float scale, bool add);
  /// g = scale x y^T, or g += it, a sum over the tokens. x: (in, tokens), y: (out, tokens), g: (in, out).
  void (*outer)(Matrix x, Matrix y, Matrix g, float scale, bool add);
};
namespace v3 {
extern const Products products;
}
namespace v4 {
extern const Products products;
}
const Products& products();  ///< those of instruction_set()

}  // namespace headlab::kernels
