#pragma once
// All that another program needs to check the first steps of a training.
#include <map>
#include <string>
#include <vector>

#include "core/config/config.hpp"

namespace headlab {

template <class T>
struct Tensor {
  std::vector<std::size_t> shape;
  std::vector<T> data;  ///< row-major
};
using Tensors = std::map<std::string, Tensor<float>>;  ///< parameters by name, (in, out)

/// K steps of B sequences of N tokens. Logits: (B, N), (B, classes) or (B, N, classes), see Answer.
struct Trace {
  Tensors initial, final, first_gradients;  ///< gradients of the whole objective, before clipping
  Tensor<float> first_logits;
  Tensor<std::int32_t> tokens, labels;                    ///< (K, B, N); (K, B) or (K, B, N)
  std::vector<double> loss, learning_rate, gradient_norm;  ///< (K); the norm is that before clipping

  struct Evaluation {
    double relative_length{};
    Tensor<std::int32_t> tokens, labels;
    Tensor<float> logits;  ///< with the final parameters
  };
  std::vector<Evaluation> evaluations;  ///< of the first B validation sequences at each relative length
};

/// Trains for `steps` >= 1 steps of the configuration's schedule. ConfigError with dropout, whose masks no other
/// program has, or for more steps than the schedule has.
Trace trace(const Config& config, std::int64_t steps);

}  // namespace headlab
