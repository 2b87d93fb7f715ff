#pragma once
// What normalised attention in its linear form does token by token; tokens in lanes.    arXiv:2005.09561
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// Of one head: queries q, (d_h, tokens), and C q with C the sum over a sequence's keys of k' k'^T, k' = k -
/// mean(k). The logits q . k have mean 0 after centring and variance q . C q / N; statistics: two rows, r = 1
/// / (std + epsilon) and 1 / std, which is 0 where std is 0.
struct Centred {
  Matrix query, mixed, statistics;
  float length;  ///< N
};

struct LinearAttention {
  void (*statistics)(Centred v, float epsilon);
  /// y(f, t) = scale row(t) x(f, t)
  void (*rescale)(Matrix x, const float* row, float scale, Matrix y);
  /// With u = x . dy and w = -gain u r^2 / (N std): dq = w C q, or dq += it; wq = w q; gives the sum of r u.
  /// x, dy: (features of a value, tokens); padding of dy must be zero.
  float (*backward)(Centred v, Matrix x, Matrix dy, float gain, Matrix dq, Matrix wq, bool add);
  /// The sum of all x(f, t) y(f, t).
  float (*dot)(Matrix x, Matrix y);
};
namespace v3 {
extern const LinearAttention linear_attention;
}
namespace v4 {
extern const LinearAttention linear_attention;
}
const LinearAttention& linear_attention();  ///< those of instruction_set()

}  // namespace headlab::kernels
