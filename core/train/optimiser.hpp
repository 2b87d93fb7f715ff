#pragma once
#include "core/config/config.hpp"
#include "core/memory/parameters.hpp"

namespace headlab {

/// Adds the gradient of train.l2 * (sum of all weights' squares), 2 l2 w; see is_weight().
void add_l2(Parameters& parameters, double l2);

/// The norm of all gradients together, summed in double precision.
double gradient_norm(Parameters& parameters);

/// Scales gradients down to train.clip where their norm is above it: each parameter's on its own (query, key
/// and value are three) or, clip_mode = global, all by the global norm. Nothing for clip = 0.
void clip(Parameters& parameters, const Config::Train& train, double global_norm);

/// Adam, update t = 1, 2, ...: Kingma and Ba, arXiv 1412.6980 §2, in the form of its last paragraph, with
/// beta 0.9, 0.999 and epsilon 1e-7 outside the root:
///   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) +
///   eps)
void adam(Parameters& parameters, double rate, std::int64_t t);

}  // namespace headlab
