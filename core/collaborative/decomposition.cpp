#include "core/collaborative/decomposition.hpp"

#include "core/base/stopwatch.hpp"
#include "core/collaborative/starts.hpp"

namespace headlab::collaborative {
namespace {

struct Descent {
  State state;
  std::vector<double> errors;
};

Descent descended(const Problem& p, State start, const Settings& s, int sweeps) {
  Descent d{std::move(start), {}};
  descend(p, d.state, sweeps, 0, s.accelerated && !s.start, d.errors);
  return d;
}

/// The start whose error is least after a few sweeps.
Descent best_start(const Problem& p, const Settings& s) {
  constexpr int trial_sweeps = 10;
  const int sweeps = std::min(trial_sweeps, s.sweeps);
  Descent best = descended(p, head_svd(p, static_cast<Index>(s.dim)).state, s, sweeps);
  for (int k = 0; k < s.starts; ++k)
    if (Descent other = descended(p, gaussian_start(p, s, k), s, sweeps);
        other.errors.back() < best.errors.back())
      best = std::move(other);
  return best;
}

Descent least_squares(const Problem& p, const HeadWeights& weights, const Settings& s) {
  constexpr int published_sweeps = 100;
  if (s.compatible || s.start) {
    Descent d{state_of(p, weights, s.start ? *s.start : uniform_factors(weights, s)), {}};
    descend(p, d.state, s.compatible ? published_sweeps : s.sweeps, s.compatible ? 0 : s.tolerance, false,
            d.errors);
    return d;
  }
  Descent d = best_start(p, s);
  descend(p, d.state, s.sweeps - static_cast<int>(d.errors.size()), s.tolerance, s.accelerated, d.errors);
  return d;
}

/// The weights themselves, of which each head mixes its own: T^ = T.
Factors copied(const HeadWeights& weights, std::size_t dim) {
  const Dense query = dense(weights.query), key = dense(weights.key);
  const Index rows = query.rows(), features = query.cols(), more = static_cast<Index>(dim) - features;
  const auto heads = static_cast<Index>(weights.heads), width = features / heads;
  const auto padded = [&](const Dense& w) {
    Dense wide(rows, features + more);
    wide << w, Dense::Zero(rows, more);
    return wide;
  };
  Dense mixing = Dense::Zero(heads, features + more);
  for (Index i = 0; i < heads; ++i) mixing.row(i).segment(i * width, width).setOnes();
  return {array(padded(query)), array(padded(key)), array(mixing)};
}

/// Components' columns as those of the model, not of the metric, with one norm.
Factors factors_of(const HeadWeights& weights, const State& state) {
  State plain = state;
  const auto explicit_side = [](const Dense& w, const Side& s) {
    const Dense f = w * s.coefficients;
    return Side{f, f, f.transpose() * f};
  };
  plain.query = explicit_side(dense(weights.query), state.query);
  plain.key = explicit_side(dense(weights.key), state.key);
  balance(plain);
  return {array(plain.query.coefficients), array(plain.key.coefficients), array(plain.mixing)};
}

void require_sound(const Settings& s) {
  require(s.dim > 0, "0 shared features");
  require(s.metric.elements.empty() || (!s.start && !s.compatible),
          "a metric goes with neither a given nor the published start");
  require(!s.start || s.start->query.shape.at(1) == s.dim, "a start of {} features for {}",
          s.start ? s.start->query.shape.at(1) : 0, s.dim);
  require(s.sweeps > 0 && s.starts >= 0, "{} sweeps, {} starts", s.sweeps, s.starts);
}

}  // namespace

Decomposition decompose(const HeadWeights& weights, const Settings& settings) {
  require_sound(settings);
  pin_blocks();
  Decomposition d;
  {
    const Stopwatch watch(d.seconds);
    const Problem p = problem(weights, settings.metric);
    const auto dim = static_cast<Index>(settings.dim);
    if (dim >= p.features()) {
      d.factors = copied(weights, settings.dim);
      return d;
    }
    Descent done;
    if (settings.method == Method::head_svd) {
      HeadSvd svd = head_svd(p, dim);
      d.error = svd.error;
      done.state = std::move(svd.state);
    } else {
      done = least_squares(p, weights, settings);
      d.error = done.errors.back();
    }
    d.floor = floor(p, dim);
    d.congruence = smallest_congruence(done.state);
    d.factors = factors_of(weights, done.state);
    d.errors = std::move(done.errors);
  }
  return d;
}

Factors mttkrp(const HeadWeights& weights, const Factors& factors) {
  const Problem p = problem(weights, {});
  const State s = state_of(p, weights, factors);
  return {array(dense(weights.query) * mixed(p, s.key.projection, s.mixing)),
          array(dense(weights.key) * mixed(p, s.query.projection, s.mixing)),
          array(head_sums(p, s.query.projection.cwiseProduct(s.key.projection)))};
}

namespace {

/// T_i - T^_i
Dense difference(const Dense& query, const Dense& key, const Factors& f, Index head, Index width) {
  const Eigen::VectorXd m = dense(f.mixing).row(head);
  return query.middleCols(head * width, width) * key.middleCols(head * width, width).transpose() -
         dense(f.query) * m.asDiagonal() * dense(f.key).transpose();
}

}  // namespace

double relative_error(const HeadWeights& weights, const Factors& factors) {
  const Dense query = dense(weights.query), key = dense(weights.key);
  const auto heads = static_cast<Index>(weights.heads), width = query.cols() / heads;
  double squares = 0, norm = 0;
  for (Index i = 0; i < heads; ++i) {
    squares += difference(query, key, factors, i, width).squaredNorm();
    norm += (query.middleCols(i * width, width) * key.middleCols(i * width, width).transpose()).squaredNorm();
  }
  return std::sqrt(squares / norm);
}

double largest_score_difference(const HeadWeights& weights, const Factors& factors,
                                const Array<double>& inputs) {
  const Dense x = dense(inputs), query = x * dense(weights.query), key = x * dense(weights.key);
  const Factors seen{array(x * dense(factors.query)), array(x * dense(factors.key)), factors.mixing};
  const auto heads = static_cast<Index>(weights.heads), width = query.cols() / heads;
  double largest = 0;
  for (Index i = 0; i < heads; ++i)
    largest = std::max(largest, difference(query, key, seen, i, width).cwiseAbs().maxCoeff());
  return largest;
}

}  // namespace headlab::collaborative
