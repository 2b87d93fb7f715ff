#include "core/collaborative/starts.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/random.hpp"

namespace headlab::collaborative {
namespace {

/// S with S S^T = P, for P that may be singular.
Dense root(const Dense& p) {
  const Eigen::SelfAdjointEigenSolver<Dense> solver(p);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
}

/// Singular triplets of one T_i: sigma_l u_l v_l^T = W_Q^(i) query_l key_l^T W_K^(i)T, largest first.
struct Triplets {
  Dense query, key;  ///< (d_k, d_k)
  Eigen::VectorXd sigma;
};
/// With roots L and K of the heads' Gram matrices, W_Q^(i) = U L^T and W_K^(i) = V K^T for orthonormal U and
/// V, so T_i has the singular values of L^T K.
Triplets triplets(const Problem& p, Index head) {
  const Dense l = root(p.block(p.query, head, head)), k = root(p.block(p.key, head, head));
  const Eigen::BDCSVD<Dense> svd(l.transpose() * k, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Eigen::ArrayXd sigma = svd.singularValues().array();
  const Eigen::VectorXd inverse = (sigma > 0).select(sigma.rsqrt(), 0.).matrix();
  return {k * svd.matrixV() * inverse.asDiagonal(), l * svd.matrixU() * inverse.asDiagonal(),
          svd.singularValues()};
}

Stream stream(const Settings& settings, const std::string& what) {
  return {settings.seed, Purpose::analytic, name_hash("reparametrize " + what), name_hash(settings.name)};
}
template <class Draw>
Dense drawn(Index rows, Index cols, const Draw& draw) {
  Dense m(rows, cols);
  for (Index c = 0; c < cols; ++c)
    for (Index r = 0; r < rows; ++r) m(r, c) = draw();
  return m;
}

}  // namespace

HeadSvd head_svd(const Problem& p, Index dim) {
  struct Place {
    double sigma;
    Index head, rank;
  };
  std::vector<Triplets> heads;
  std::vector<Place> all;
  for (Index i = 0; i < p.heads; ++i) {
    heads.push_back(triplets(p, i));
    for (Index l = 0; l < p.width; ++l) all.push_back({heads.back().sigma[l], i, l});
  }
  std::ranges::sort(all, {}, [](const Place& t) { return std::tuple(-t.sigma, t.head, t.rank); });
  Dense query = Dense::Zero(p.features(), dim), key = query, mixing = Dense::Zero(p.heads, dim);
  double left_out = 0;
  for (Index r = 0; r < std::ssize(all); ++r) {
    const auto [sigma, head, rank] = all[static_cast<std::size_t>(r)];
    if (r >= dim) {
      left_out += sigma * sigma;
      continue;
    }
    const Triplets& t = heads[static_cast<std::size_t>(head)];
    query.col(r).segment(head * p.width, p.width) = t.query.col(rank);
    key.col(r).segment(head * p.width, p.width) = t.key.col(rank);
    mixing(head, r) = 1;
  }
  return {{side(p.query, std::move(query)), side(p.key, std::move(key)), std::move(mixing)},
          std::sqrt(left_out / p.norm)};
}

State gaussian_start(const Problem& p, const Settings& settings, int number) {
  Stream numbers = stream(settings, fmt::format("gaussian {}", number));
  const auto dim = static_cast<Index>(settings.dim);
  const auto normal = [&] { return numbers.normal(); };
  State s;
  s.key = side(p.key, drawn(p.features(), dim, normal));
  s.mixing = drawn(p.heads, dim, normal);
  return s;
}

Factors uniform_factors(const HeadWeights& weights, const Settings& settings) {
  Stream numbers = stream(settings, "uniform");
  const auto uniform = [&] { return numbers.uniform(); };
  const auto rows = static_cast<Index>(weights.query.shape[0]), dim = static_cast<Index>(settings.dim);
  const Dense query = drawn(rows, dim, uniform), key = drawn(rows, dim, uniform);
  return {array(query), array(key), array(drawn(static_cast<Index>(weights.heads), dim, uniform))};
}

State state_of(const Problem& p, const HeadWeights& weights, const Factors& factors) {
  const auto rows = static_cast<Index>(weights.query.shape[0]);
  const Dense a = dense(factors.query), b = dense(factors.key);
  require(a.rows() == rows && b.rows() == rows && factors.mixing.shape[0] == weights.heads &&
              a.cols() == b.cols() && factors.mixing.shape[1] == factors.query.shape[1],
          "factors that do not fit {} heads of {} features", p.heads, p.width);
  const auto as_side = [](const Dense& w, const Dense& f) {
    return Side{Dense::Zero(w.cols(), f.cols()), w.transpose() * f, f.transpose() * f};
  };
  return {as_side(dense(weights.query), a), as_side(dense(weights.key), b), dense(factors.mixing)};
}

}  // namespace headlab::collaborative
