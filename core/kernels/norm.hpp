#pragma once
// Layer norms with what comes right before and after them, see rows.hpp.
#include <array>

#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// What is normalised (s) and what becomes of it (y), with z = gain (s - mean) / sqrt(var + epsilon) + shift:
enum class NormForm {
  plain,            ///< s = u + bias, y = z
  gelu,             ///< s = u + bias, y = GELU(z)
  residual_after,   ///< s = u + bias, y = x + z
  residual_before,  ///< s = x + u + bias, y = z
};

/// Layer normalisation (arXiv:1607.06450): mean and population variance of a token are over its features;
/// epsilon is inside the root. GELU (arXiv:1606.08415) in its tanh form.
///
/// x, u, y, slope: (features, tokens); bias, gain, shift: (1, features). slope: GELU', kept for backward.
/// statistics: (4, tokens), mean, 1 / deviation and two sums of backward.
struct Norm {
  Matrix x, u, bias, gain, shift, y, slope, statistics;
  float epsilon;
};

struct Norms {
  std::array<void (*)(Norm v), 4> forward;  ///< by NormForm
  std::array<void (*)(Norm v, Norm d, bool add_x, bool add_u), 4> backward;
};
namespace v3 {
extern const Norms norms;
}
namespace v4 {
extern const Norms norms;
}
const Norms& norms();  ///< those of instruction_set()

}  // namespace headlab::kernels
