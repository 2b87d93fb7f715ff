#pragma once
#include "core/collaborative/als.hpp"

namespace headlab::collaborative {

/// The R largest singular triplets over all T_i, M 0 or 1: the best T^ of heads that share nothing. Its
/// relative error is exact up to the rounding of a Gram matrix, 1e-8 of the largest.
struct HeadSvd {
  State state;
  double error{};
};
HeadSvd head_svd(const Problem& p, Index dim);

/// Keys' coefficients and mixing standard normal; a pure function of (seed, name, number).
State gaussian_start(const Problem& p, const Settings& settings, int number);

/// Factors of that width with elements uniform on [0, 1).
Factors uniform_factors(const HeadWeights& weights, const Settings& settings);

/// Factors that need not be of the form W c. Their coefficients are unknown: for sweeps alone, without
/// momentum in the first.
State state_of(const Problem& p, const HeadWeights& weights, const Factors& factors);

}  // namespace headlab::collaborative
