#include "core/collaborative/als.hpp"

namespace headlab::collaborative {
namespace {

Dense gram_of(const Dense& mixing) { return mixing.transpose() * mixing; }

/// coefficients^T projection, which is symmetric.
Dense symmetric_product(const Dense& coefficients, const Dense& projection) {
  Dense gram(coefficients.cols(), coefficients.cols());
  gram.triangularView<Eigen::Lower>() = coefficients.transpose() * projection;
  gram.triangularView<Eigen::StrictlyUpper>() = gram.transpose();
  return gram;
}

/// X becomes X (gram + ridge)^-1.
void solve(const Dense& gram, Dense& x) {
  const double mean = gram.trace() / static_cast<double>(gram.rows());
  for (double ridge = 1e-10 * mean;; ridge *= 10) {
    Dense sum = gram;
    sum.diagonal().array() += ridge;
    const Eigen::LLT<Eigen::Ref<Dense>> llt(sum);  // in place
    if (llt.info() == Eigen::Success) {
      llt.matrixU().solveInPlace<Eigen::OnTheRight>(x);
      llt.matrixL().solveInPlace<Eigen::OnTheRight>(x);
      return;
    }
    require(ridge > 0 && ridge <= mean, "weights that are not finite");
  }
}

/// The least squares solution for one side, the other and M given.
Side updated(const Problem& p, const Dense& weights_gram, const Side& other, const Dense& mixing) {
  Dense c = mixed(p, other.projection, mixing);
  solve(other.gram.cwiseProduct(gram_of(mixing)), c);
  return side(weights_gram, std::move(c));
}

/// The squared relative error from M's MTTKRP: |T|^2 - 2 <T, T^> + |T^|^2, where cancellation leaves 1e-16.
double squared_error(const Problem& p, const State& s, const Dense& mttkrp) {
  const double inner = mttkrp.cwiseProduct(s.mixing).sum();
  const double norm = s.query.gram.cwiseProduct(s.key.gram).cwiseProduct(gram_of(s.mixing)).sum();
  return std::max(0., (p.norm - 2 * inner + norm) / p.norm);
}
Dense mixing_mttkrp(const Problem& p, const State& s) {
  return head_sums(p, s.query.projection.cwiseProduct(s.key.projection));
}

void scale(Side& side, const Eigen::ArrayXd& by) {
  const auto columns = by.matrix().asDiagonal();
  side.coefficients *= columns;
  side.projection *= columns;
  side.gram = columns * side.gram * columns;
}

/// Where momentum takes keys and mixing, from the last state but one over the last.
State extrapolated(const State& before, const State& now, double by) {
  State next;
  next.key.coefficients = now.key.coefficients + by * (now.key.coefficients - before.key.coefficients);
  next.key.projection = now.key.projection + by * (now.key.projection - before.key.projection);
  next.key.gram = symmetric_product(next.key.coefficients, next.key.projection);
  next.mixing = now.mixing + by * (now.mixing - before.mixing);
  return next;
}

}  // namespace

Side side(const Dense& weights_gram, Dense coefficients) {
  Dense projection(coefficients.rows(), coefficients.cols());
  projection.noalias() = weights_gram * coefficients;
  Dense gram = symmetric_product(coefficients, projection);
  return {std::move(coefficients), std::move(projection), std::move(gram)};
}

Dense mixed(const Problem& p, const Dense& projection, const Dense& mixing) {
  Dense m(projection.rows(), projection.cols());
  for (Index r = 0; r < m.cols(); ++r)
    for (Index i = 0; i < p.heads; ++i)
      m.col(r).segment(i * p.width, p.width) = projection.col(r).segment(i * p.width, p.width) * mixing(i, r);
  return m;
}

Dense head_sums(const Problem& p, const Dense& rows) {
  Dense sums(p.heads, rows.cols());
  for (Index r = 0; r < rows.cols(); ++r)
    for (Index i = 0; i < p.heads; ++i) sums(i, r) = rows.col(r).segment(i * p.width, p.width).sum();
  return sums;
}

double sweep(const Problem& p, State& s) {
  s.query = updated(p, p.query, s.key, s.mixing);
  s.key = updated(p, p.key, s.query, s.mixing);
  const Dense mttkrp = mixing_mttkrp(p, s);
  s.mixing = mttkrp;
  solve(s.query.gram.cwiseProduct(s.key.gram), s.mixing);
  const double error = std::sqrt(squared_error(p, s, mttkrp));
  balance(s);
  return error;
}

/// Momentum as in Mitchell, Ye and De Sterck, arXiv 1810.05846: Nesterov's sequence, anew when the error
/// rises. Momentum slows down before it turns, so one small change does not end it, two do.
void descend(const Problem& p, State& s, int sweeps, double tolerance, bool accelerated,
             std::vector<double>& errors) {
  const int wanted = accelerated ? 2 : 1;
  double last = errors.empty() ? std::numeric_limits<double>::infinity() : errors.back(), t = 1;
  State from = s;
  bool moved = false;  // `from` is beyond `s`
  for (int n = 0, small = 0; n < sweeps && small < wanted; ++n) {
    const double error = sweep(p, from);
    if (moved && error > last) {
      errors.push_back(last);
      from = s, t = 1, moved = false;
      continue;
    }
    small = std::abs(last - error) < tolerance ? small + 1 : 0;
    const double next_t = (1 + std::sqrt(1 + 4 * t * t)) / 2, by = (t - 1) / next_t;
    moved = accelerated && by > 0;
    State beyond = moved ? extrapolated(s, from, by) : from;
    s = std::move(from), from = std::move(beyond);
    errors.push_back(last = error), t = next_t;
  }
}

void balance(State& s) {
  const Eigen::ArrayXd a = s.query.gram.diagonal().array().sqrt(), b = s.key.gram.diagonal().array().sqrt();
  const Eigen::ArrayXd m = s.mixing.colwise().norm().transpose().array();
  const Eigen::ArrayXd mean = (a * b * m).pow(1. / 3);
  const auto to_mean = [&](const Eigen::ArrayXd& norm) { return (mean > 0).select(mean / norm, 1.); };
  scale(s.query, to_mean(a));
  scale(s.key, to_mean(b));
  s.mixing *= to_mean(m).matrix().asDiagonal();
}

double smallest_congruence(const State& s) {
  Dense products = s.query.gram.cwiseProduct(s.key.gram).cwiseProduct(gram_of(s.mixing));
  const Eigen::ArrayXd norm = products.diagonal().array().sqrt();
  double least = 1;
  for (Index r = 0; r < products.cols(); ++r)
    for (Index q = 0; q < r; ++q)
      if (const double both = norm(r) * norm(q); both > 0) least = std::min(least, products(q, r) / both);
  return least;
}

}  // namespace headlab::collaborative
