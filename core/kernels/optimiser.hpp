#pragma once
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// Adam (arXiv:1412.6980). Epsilon is outside the root; the corrections of the moments at update t = 1, 2,
/// ... are folded into rate = learning rate sqrt(1 - beta2^t) / (1 - beta1^t).
struct Adam {
  double rate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
};

struct Optimiser {
  /// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= rate m / (sqrt(v) + epsilon).
  void (*adam)(float* w, const float* g, float* m, float* v, Index n, Adam a);
  /// The sum of m(r, c)^2, in double; columns past m.cols are not read.
  double (*sum_of_squares)(Matrix m);
};
namespace v3 {
extern const Optimiser optimiser;
}
namespace v4 {
extern const Optimiser optimiser;
}
const Optimiser& optimiser();  ///< that of instruction_set()

}  // namespace headlab::kernels
