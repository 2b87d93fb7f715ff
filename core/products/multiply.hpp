#pragma once
// Products of a head and sequence or a narrow layer: by a fixed rule from shapes our kernels or sgemm, never
// by a timing: bits must not depend on load.
#include "core/dnn/multiply.hpp"
#include "core/kernels/products.hpp"

namespace headlab::products {

constexpr bool is_map_small(Index in, Index out) { return in * out <= 8192; }
constexpr bool is_outer_small(Index in, Index out) { return in * out <= 8192; }

/// y = scale w^T x, or y += it. w: (in, out), x: (in, tokens), y: (out, tokens).
inline void map(const dnn::Factor& w, const Matrix& x, const Matrix& y, float scale = 1, bool add = false) {
  if (is_map_small(w.rows(), w.cols()))
    kernels::products().map(w.matrix, w.is_transposed, x, y, scale, add);
  else
    dnn::multiply(transposed(w), x, y, scale, add);
}

/// g = scale x y^T, or g += it, a sum over the tokens. x: (in, tokens), y: (out, tokens), g: (in, out).
inline void outer(const Matrix& x, const Matrix& y, const Matrix& g, float scale = 1, bool add = false) {
  if (is_outer_small(g.rows, g.cols))
    kernels::products().outer(x, y, g, scale, add);
  else
    dnn::multiply(x, dnn::transposed(y), g, scale, add);
}

}  // namespace headlab::products
