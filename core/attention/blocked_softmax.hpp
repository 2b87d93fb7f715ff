#pragma once
#include "core/config/config.hpp"
#include "core/layers/layers.hpp"

namespace headlab {

/// Longer sequences keep no N weights a head and token for backward, except with dropout.
constexpr Index longest_kept = 256;

/// Softmax attention, a_ij = exp(l_ij) / sum_k exp(l_ik) with l_ij = scale q_i . k_j, in blocks of queries or
/// keys of one head and sequence. Of sequences of up to `longest_kept` tokens that are whole blocks of 32
/// forward keeps the exponentials; of others two numbers a query, of which backward makes them again
/// (arXiv:2205.14135), so that memory grows with N. Shapes as Attention's.
Slot add_blocked_softmax(Planner& p, Layers& layers, const std::string& name, const Slot& qkv,
                         const Config::Model& model, float scale);

}  // namespace headlab
