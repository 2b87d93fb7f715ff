#pragma once
// Heads that share queries and keys, from heads that do not: arXiv 2006.16362 §3.3. Axes: D width of the
// model, H heads, d_k features of a head's queries, D_k = H d_k, R shared features.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/train/tensors.hpp"

namespace headlab::collaborative {

/// Heads side by side, W_Q = [W_Q^(1) ... W_Q^(H)].
struct HeadWeights {
  std::size_t heads;
  Array<double> query, key;  ///< (D, D_k)
};

/// T^_i = sum_r mixing_ir query_r key_r^T for head i, in place of T_i = W_Q^(i) W_K^(i)T.
struct Factors {
  Array<double> query, key;  ///< (D, R)
  Array<double> mixing;      ///< (H, R)
};

enum class Method {
  als,       ///< alternating least squares for all three factors
  head_svd,  ///< the R largest singular triplets of all heads' T_i, none shared
};

struct Settings {
  std::size_t dim{};  ///< R
  Method method = Method::als;
  double tolerance = 1e-6;  ///< of als: ends when the relative error changes by less
  int sweeps = 500;         ///< of als, at most
  int starts = 3;           ///< random ones beside that from head_svd; the best after 10 sweeps goes on
  bool accelerated = true;  ///< Nesterov's momentum, anew whenever the error rises
  bool compatible = false;  ///< as published: one uniform start, 100 plain sweeps
  std::uint64_t seed = 0;
  std::string name;  ///< of the layer: each draws numbers of its own
  /// C (D, D), symmetric and positive semidefinite: errors are counted as |C^1/2 (T_i - T^_i) C^1/2|; with
  /// the second moments of a layer's inputs they are errors of scores. Empty: the identity.
  Array<double> metric{};
  std::optional<Factors> start{};  ///< instead of all others; not with a metric
};

struct Decomposition {
  Factors factors;
  double error{};       ///< |T - T^| / |T|, Frobenius norms over all heads; up to 1e-8 are rounding
  double floor{};       ///< that no factors of this R can be below: Eckart and Young on T's unfoldings
  double congruence{};  ///< least product of the three cosines between two components; -1: degenerate
  double seconds{};
  std::vector<double> errors;  ///< after each sweep from the chosen start on; of als
};

/// Structured alternating least squares in double: with A, B the factors of queries and keys, E (H, D_k) the
/// blocks of ones, * elementwise,
///   A = W_Q [(W_K^T B) * (E^T M)] [(B^T B) * (M^T M)]^-1   (B alike),
///   M = [sums over each head's rows of (W_Q^T A) * (W_K^T B)] [(A^T A) * (B^T B)]^-1.
/// T is never formed; A = W_Q a is kept as a (D_k, R), so a sweep is two products of D_k x D_k x R and
/// solves. Cholesky with a ridge of 1e-10 trace / R. At the end every component's three columns have one
/// norm. R >= D_k needs no search: the weights themselves, M the blocks E, and zero columns; the error is 0.
///
/// A pure function of weights and settings. ConfigError for shapes that do not fit, R = 0, or T = 0.
Decomposition decompose(const HeadWeights& weights, const Settings& settings);

/// The products of T's three unfoldings with the Khatri-Rao products of the other two factors, in the places
/// of the factors: query_dr = sum_i,e T_i,de M_ir B_er, mixing_ir = sum_d,e T_i,de A_dr B_er.
Factors mttkrp(const HeadWeights& weights, const Factors& factors);

/// |T - T^| / |T| one head at a time, without cancellation: exact to rounding, D x D x H (R + d_k)
/// operations.
double relative_error(const HeadWeights& weights, const Factors& factors);

/// How far scores x^T T_i y, x and y rows of `inputs` (n, D), are off at most over all heads and pairs.
double largest_score_difference(const HeadWeights& weights, const Factors& factors,
                                const Array<double>& inputs);

}  // namespace headlab::collaborative
