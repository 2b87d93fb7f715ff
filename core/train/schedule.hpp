#pragma once
#include "core/config/config.hpp"

namespace headlab {

/// The learning rate of step s = 0 .. T - 1, T = epochs * steps_per_epoch, in double precision:
/// lr s / w for s < w = floor(warmup T), then lr (1 - s / T). The jump at s = w is the published one
/// (arXiv 2005.09561, its code): the decay does not start over.
double learning_rate(const Config::Train& train, std::int64_t s);

}  // namespace headlab
