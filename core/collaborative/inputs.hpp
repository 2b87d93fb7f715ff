#pragma once
#include "core/config/config.hpp"
#include "core/tasks/task.hpp"
#include "core/train/tensors.hpp"

namespace headlab::collaborative {

/// What a model's layers see of the first `count` sequences of a purpose, at the task's length: a matrix a
/// layer, (count N, d). ConfigError if the parameters are not those of the configuration.
std::vector<Array<double>> layer_inputs(const Config& config, const Tensors& parameters, Purpose purpose,
                                        std::int64_t count);

/// X^T X / n of X (n, d).
Array<double> second_moments(const Array<double>& rows);

}  // namespace headlab::collaborative
