#pragma once
#include "core/collaborative/decomposition.hpp"
#include "core/collaborative/eigen.hpp"

namespace headlab::collaborative {

/// T by its Gram matrices, which are all that its decomposition needs: A factor of queries is A = W_Q a, one
/// of keys B = W_K b.
struct Problem {
  Index heads{}, width{};  ///< H, d_k
  Dense query, key;        ///< W_Q^T C W_Q, W_K^T C W_K (D_k, D_k)
  double norm{};           ///< |T|^2

  Index features() const { return heads * width; }
  auto block(const Dense& gram, Index i, Index j) const {
    return gram.block(i * width, j * width, width, width);
  }
};

/// ConfigError for shapes that do not fit.
Problem problem(const HeadWeights& weights, const Array<double>& metric);

/// The relative error below which no T^ of rank R is: each unfolding of T^ has at most that rank.
double floor(const Problem& p, Index dim);

/// Eigenvalues, largest first, of a symmetric positive semidefinite matrix, and of P Q, both such matrices;
/// what rounding makes negative is 0.
Eigen::VectorXd eigenvalues(const Dense& symmetric);
Eigen::VectorXd eigenvalues_of_product(const Dense& p, const Dense& q);

/// Squared singular values of T's unfoldings, largest first: (D, H D) by queries and by keys, (H, D D).
struct Unfoldings {
  Eigen::VectorXd query, key, heads;
};
Unfoldings unfoldings(const Problem& p);

}  // namespace headlab::collaborative
