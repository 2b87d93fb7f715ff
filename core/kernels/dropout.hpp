#pragma once
// Kernels of dropout, see rows.hpp.
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// m = scale where a value is kept, 0 where it is dropped, for rows 0, 1, ... of some matrix of the same
/// columns: row r is bit (first + r) % 32 of row (first + r) / 32 of `bits`, whose floats are taken as words.
/// Without bits everything is kept as it is, m = 1.
struct Mask {
  Matrix bits;
  Index first;
  float scale;
};

/// y = x + m (u + bias). x, u, y: (features, tokens), bias: (1, features); x and bias may have no data.
struct Dropout {
  Matrix x, u, bias, y;
};

struct Dropouts {
  void (*forward)(Mask m, Dropout v);
  /// du = m dy and dx = dy, or each += it; dbias += sum over the tokens of m dy.
  void (*backward)(Mask m, Dropout d, bool add_x, bool add_u);
  /// masked = m (gain z + shift); masked may be z.
  void (*weights)(Mask m, Matrix z, float gain, float shift, Matrix masked);
};
namespace v3 {
extern const Dropouts dropouts;
}
namespace v4 {
extern const Dropouts dropouts;
}
const Dropouts& dropouts();  ///< those of instruction_set()

}  // namespace headlab::kernels
