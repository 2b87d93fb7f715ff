#pragma once
#include "core/config/config.hpp"

namespace headlab {

/// Floating-point operations of the products (see forward_operations) of one training step, and of a whole
/// trial with its evaluations and test. Dropout has none.
double step_operations(const Config& config);
double trial_operations(const Config& config);

/// Numbers that are trained, roughly.
double parameters_needed(const Config& config);

/// Bytes that a trial holds, roughly: parameters with gradients and moments, activations of its plans, its
/// sets of sequences.
double memory_needed(const Config& config);

/// ConfigError for what no model has yet, and for what would need more than 64 GiB.
void require_feasible(const Config& config);

/// task.length times a relative length, rounded down.
std::int64_t length_at(const Config& config, double relative_length);

/// Whether there is an evaluation after an epoch (1, 2, ...): every eval.every epochs and after the last.
bool evaluates(const Config& config, std::int64_t epoch);

}  // namespace headlab
