#pragma once
#include "core/memory/matrix.hpp"

namespace headlab::dnn {

/// A matrix as it enters a product; made of one without being asked.
struct Factor {
  Matrix matrix;
  bool is_transposed = false;

  Factor(const Matrix& m) : matrix(m) {}  // NOLINT(*-explicit-*)
  Index rows() const { return is_transposed ? matrix.cols : matrix.rows; }
  Index cols() const { return is_transposed ? matrix.rows : matrix.cols; }
};
inline Factor transposed(Factor f) {
  f.is_transposed = !f.is_transposed;
  return f;
}

/// c = scale a b, or c += scale a b: for products too small to be worth planning, of one head and sequence.
void multiply(const Factor& a, const Factor& b, const Matrix& c, float scale = 1, bool add = false);

}  // namespace headlab::dnn
