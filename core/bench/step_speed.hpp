#pragma once
// What a training step takes, by phase and by part, and what it could take at most.
#include "core/config/config.hpp"
#include "core/layers/layers.hpp"

namespace headlab {

/// Processor seconds of one run, the mean of each round's.
struct Repeats {
  std::vector<double> seconds;

  double best() const;
  double median() const;
};

/// One run of steps whose layers were timed one by one: seconds a step, of the wall clock.
struct ObservedStep {
  double whole{}, data{}, norm_and_clipping{}, adam{};
  LayerSeconds layers;

  /// What is in none of the others: zeroing gradients, the L2 term, what is done for each chunk.
  double rest() const;
};

struct StepSpeed {
  double step_operations{}, forward_operations{};  ///< of step_operations() and forward_operations()
  double weight_operations{};                      ///< of the step's products of weights, without attention's
  double peak_operations{};                        ///< of one run of `peak`
  Index parameters{}, steps{};                     ///< trained numbers; steps in a round
  Repeats step;                                    ///< all of the next three
  Repeats data, gradients, update;  ///< drawing a batch; forward and backward; norm, clipping and Adam
  Repeats evaluation;               ///< forward of such a batch, as validation does it
  Repeats products;                 ///< BareProducts of the step
  Repeats peak;                     ///< some multiply-adds in registers, kernels::MultiplyAdds
  ObservedStep observed;            ///< the fastest
};

/// How long to measure: that many rounds, or fewer, but one, if more would not fit the time.
struct Effort {
  Index rounds = 7;
  double seconds = 5;
};

/// Times real training steps from the configuration's start, in the calling thread's processor time, once two
/// of them have run. Each round takes a turn of everything that is measured, every turn some 20 ms or one
/// step.
StepSpeed measure_step(const Config& config, const Effort& effort);

}  // namespace headlab
