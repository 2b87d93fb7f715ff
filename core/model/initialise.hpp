#pragma once
#include "core/config/config.hpp"
#include "core/memory/parameters.hpp"

namespace headlab {

/// Weights and embeddings: normal with standard deviation init.std, redrawn beyond two of them, each row of
/// each parameter from a stream of its own, so that it depends on (seed, name, row) only. Biases 0, gains 1,
/// the mixing of collaborative heads by init.mixing.
void initialise(Parameters& parameters, const Config& config);

/// A matrix that multiplies activations: regularised by train.l2; not an embedding, bias or gain.
bool is_weight(const std::string& parameter);

}  // namespace headlab
