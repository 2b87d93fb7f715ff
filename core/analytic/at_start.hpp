#pragma once
#include <string>
#include <vector>

#include "core/config/config.hpp"
#include "core/memory/matrix.hpp"

namespace headlab {

/// How large what a token gets from the N tokens of its sequence is before training.
struct SizeAtStart {
  std::string aggregation;            ///< softmax, mean, sum, max, normalised, nap, non
  Index length;                       ///< N
  double deviation, deviation_error;  ///< standard deviation of all entries of all outputs
  double norm, norm_error;            ///< mean of the outputs' Euclidean norms
  double closed_form;                 ///< of the deviation; softmax: its limit for large N
};

/// The figure "aggregation size at start" of arXiv 2005.09561, one entry for each aggregation and length: one
/// head, d = 128, queries, keys and values (where it pools, embeddings) independent standard normal. mean is
/// 1 / N of sum; normalised is sum, then (x - mean) / (std + 1e-3) over the features. Errors are standard
/// errors over `replicates` (>= 2) draws of at least 256 tokens, of 32 sequences where it pools.
///
/// Closed forms: mean N^-1/2, sum N^1/2, softmax (e / N)^1/2, nap N^1/2 but 0 at N = 1, non and normalised 1,
/// max the deviation of the largest of N standard normal numbers.
std::vector<SizeAtStart> sizes_at_start(const std::vector<Index>& lengths, Index replicates,
                                        std::int64_t seed);

/// The standard deviation of the largest of n independent standard normal numbers, density n phi(x)
/// Phi(x)^(n-1), to about 1e-6.
double deviation_of_largest(double n);

}  // namespace headlab
