#pragma once
// All that another program needs to check the first steps of a training. Axes: K steps, B batch, N length.
#include <cstdint>

#include "core/config/config.hpp"
#include "core/train/tensors.hpp"

namespace headlab {

struct Trace {
  Tensors initial, final;  ///< before the first and after the last step

  struct Steps {
    Array<std::int32_t> tokens;  ///< (K, B, N)
    Array<std::int32_t> labels;  ///< (K, B), with a label a token (K, B, N), with several (..., answers)
    std::vector<double> loss;    ///< mean cross-entropy of the batch, nat; this and the next two (K)
    std::vector<double> learning_rate;
    std::vector<double> gradient_norm;  ///< of all parameters together, before clipping
  } steps;

  struct First {
    Array<float> logits;  ///< of the first step: (B, N), (B, classes) or (B, N, classes), see Answer; of
                          ///< several answers (..., answers, classes)
    Tensors gradients;    ///< of the first step's objective, before clipping
  } first;

  struct Evaluation {
    Array<std::int32_t> tokens;  ///< (B, N times the relative length), the first validation sequences
    Array<std::int32_t> labels;
    Array<float> logits;  ///< with the final parameters
  };
  std::map<std::string, Evaluation> evaluation;  ///< by relative length: "1", "0.5"
};

/// Trains the first `steps` >= 1 steps of the configuration's schedule. ConfigError with dropout, whose masks
/// no other program has, or for more steps than the schedule has.
Trace trace(const Config& config, std::int64_t steps);

}  // namespace headlab
