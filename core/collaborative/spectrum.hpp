#pragma once
// How much of a layer's queries and keys lies in few dimensions: arXiv 2006.16362 §3.1, figure 1.
#include "core/collaborative/decomposition.hpp"

namespace headlab::collaborative {

/// c(j) = sum_(l <= j) s_l^2 / sum_l s_l^2, j = 1, 2, ..., of singular values s, largest first.
struct Energy {
  std::string kind;     ///< see spectrum()
  std::int64_t head{};  ///< -1: of all heads together
  std::vector<double> cumulative{};
};

/// Of every head: `head_query` W_Q^(i), `head_key` W_K^(i), `head_product` W_Q^(i) W_K^(i)T, up to d_k
/// dimensions. Of all together, up to min(D, D_k): `query` W_Q, `key` W_K, `product` W_Q W_K^T, the sum of
/// all heads' products, and T's unfoldings `unfolding_query`, `unfolding_key` (D, H D); `unfolding_heads` (H,
/// D D). Where all is zero c is 1.
std::vector<Energy> spectrum(const HeadWeights& weights);

/// The least and the largest c(j) by kind, over heads and `draws` layers of that shape whose weights are
/// independent and standard normal (c does not depend on their scale); with `shared`, layers whose heads
/// share so many features, their mixing standard normal, too.
struct Band {
  std::string kind;
  std::vector<double> low, high;
};
std::vector<Band> random_band(std::size_t dim, std::size_t features, std::size_t heads, int draws,
                              std::uint64_t seed, bool shared = false);

/// c at a share of the dimensions, between the nearest of them by interpolation, c(0) = 0.
double at_share(const std::vector<double>& cumulative, double share);

}  // namespace headlab::collaborative
