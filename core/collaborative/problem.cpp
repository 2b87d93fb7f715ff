#include "core/collaborative/problem.hpp"

namespace headlab::collaborative {
namespace {

Dense gram(const Dense& w, const Array<double>& metric) {
  Dense product(w.cols(), w.cols());
  if (metric.elements.empty())
    product.noalias() = w.transpose() * w;
  else
    product.noalias() = w.transpose() * (dense(metric) * w);
  return (product + product.transpose()) / 2;
}

/// The blocks of each head with itself, zero elsewhere.
Dense block_diagonal(const Problem& p, const Dense& gram) {
  Dense blocks = Dense::Zero(gram.rows(), gram.cols());
  for (Index i = 0; i < p.heads; ++i)
    blocks.block(i * p.width, i * p.width, p.width, p.width) = p.block(gram, i, i);
  return blocks;
}

/// <T_i, T_j>
Dense head_products(const Problem& p) {
  Dense products(p.heads, p.heads);
  for (Index i = 0; i < p.heads; ++i)
    for (Index j = 0; j < p.heads; ++j)
      products(i, j) = p.block(p.query, i, j).cwiseProduct(p.block(p.key, i, j)).sum();
  return products;
}

void require_shapes(const HeadWeights& w, const Array<double>& metric) {
  const auto &q = w.query.shape, &k = w.key.shape;
  require(q.size() == 2 && q == k, "queries ({}) and keys ({}) differ in shape", fmt::join(q, ", "),
          fmt::join(k, ", "));
  require(w.heads > 0 && q[0] > 0 && q[1] > 0 && q[1] % w.heads == 0, "{} features of queries and {} heads",
          q[1], w.heads);
  require(metric.elements.empty() || metric.shape == std::vector(2, q[0]), "a metric that is not {} x {}",
          q[0], q[0]);
}

/// P = L L^T, for P that may be singular with a ridge far below what its eigenvalues resolve.
Dense root(const Dense& p) {
  const double mean = p.trace() / static_cast<double>(p.rows());
  for (double ridge = 1e-15 * mean;; ridge *= 10) {
    const Eigen::LLT<Dense> llt(p + ridge * Dense::Identity(p.rows(), p.rows()));
    if (llt.info() == Eigen::Success) return llt.matrixL();
    require(ridge > 0 && ridge <= mean, "weights that are not finite");
  }
}

}  // namespace

Problem problem(const HeadWeights& weights, const Array<double>& metric) {
  require_shapes(weights, metric);
  const auto heads = static_cast<Index>(weights.heads);
  Problem p{heads, static_cast<Index>(weights.query.shape[1]) / heads, gram(dense(weights.query), metric),
            gram(dense(weights.key), metric)};
  p.norm = head_products(p).trace();
  require(p.norm > 0 && std::isfinite(p.norm), "scores that are all zero or not finite");
  return p;
}

Eigen::VectorXd eigenvalues(const Dense& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Dense> solver(symmetric, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().reverse().cwiseMax(0);
}

Eigen::VectorXd eigenvalues_of_product(const Dense& p, const Dense& q) {
  if (p.trace() == 0 || q.trace() == 0) return Eigen::VectorXd::Zero(p.rows());
  const Dense l = root(p);
  return eigenvalues(l.transpose() * q * l);
}

Unfoldings unfoldings(const Problem& p) {
  return {eigenvalues_of_product(p.query, block_diagonal(p, p.key)),
          eigenvalues_of_product(p.key, block_diagonal(p, p.query)), eigenvalues(head_products(p))};
}

double floor(const Problem& p, Index dim) {
  const auto rest = [&](const Eigen::VectorXd& all) {
    return dim < all.size() ? all.tail(all.size() - dim).sum() : 0.;
  };
  const Unfoldings all = unfoldings(p);
  return std::sqrt(std::max({rest(all.query), rest(all.key), rest(all.heads)}) / p.norm);
}

}  // namespace headlab::collaborative
