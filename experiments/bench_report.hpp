#pragma once
// What `headlab bench` tells of a configuration.
#include <nlohmann/json.hpp>
#include <optional>

#include "core/bench/step_speed.hpp"
#include "core/config/key.hpp"

namespace headlab {

/// A part of the step: layers of a kind, or something done once a step.
struct StepPart {
  std::string name;
  std::optional<double> forward, backward;  ///< seconds, of layers
  double seconds;                           ///< both, or all
};
/// Those that took any time, in the order of a step; their sum is what the observed step took.
std::vector<StepPart> parts_of(const ObservedStep& step);

/// Operations a second of the best run, and of the median one.
double speed(double operations, const Repeats& repeats);
/// The step's speed over that of its products of weights alone: with attention, whose operations count like
/// others, and all that is between products.
double share_of_products(const StepSpeed& speed);

std::string bench_text(const StepSpeed& speed);
nlohmann::ordered_json bench_json(const StepSpeed& speed);

}  // namespace headlab
