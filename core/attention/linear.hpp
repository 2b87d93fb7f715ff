#pragma once
#include "core/attention/attention.hpp"

namespace headlab {

/// Whether attention that is linear in its keys is less work in its linear form: sequences are longer than a
/// head is wide. Not with dropout, which needs the weights one by one.
bool is_linear_less(Index length, const Config::Model& model);
/// The same for a whole configuration's model, whose architecture may have no linear form.
bool runs_linear(Index length, const Config::Model& model);

/// non without its N x N weights: o_i = scale A^T q_i with A = K V^T, the sum of k_j v_j^T over a sequence.
/// Exact algebra, N d_h^2 for N^2 d_h (arXiv:2006.16236); memory grows with N. Shapes as Attention's.
Slot add_linear_scaled(Planner& p, Layers& layers, const std::string& name, const Slot& qkv,
                       const Config::Model& model, float scale);

/// nap without its N x N weights. With centred keys, K' = K - mean(K), a query's logits have mean zero, so
///   o_i = g A^T q_i / (std_i + epsilon) + b sum_j v_j
///   std_i^2 = q_i . C q_i / N,  A = K' V^T,  C = K' K'^T
/// which is the form of arXiv:2005.09561, exactly. Where std_i is far below |q_i| |k'|, its square is a
/// difference of much larger numbers, and the relative error can reach 1e-4. NAME.gain g, NAME.bias b: (1,
/// heads). Shapes as Attention's.
Slot add_linear_normalised(Planner& p, Layers& layers, const std::string& name, const Slot& qkv,
                           const Config::Model& model);

}  // namespace headlab
