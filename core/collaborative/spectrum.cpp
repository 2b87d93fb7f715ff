#include "core/collaborative/spectrum.hpp"

#include <algorithm>

#include "core/base/random.hpp"
#include "core/collaborative/conversion.hpp"
#include "core/collaborative/problem.hpp"

namespace headlab::collaborative {
namespace {

std::vector<double> cumulative(const Eigen::VectorXd& squares, Index dimensions) {
  std::vector<double> c(static_cast<std::size_t>(std::min(dimensions, squares.size())));
  const double all = squares.sum();
  double sum = 0;
  for (std::size_t j = 0; j < c.size(); ++j) {
    sum += squares[static_cast<Index>(j)];
    c[j] = all > 0 ? std::min(1., sum / all) : 1;
  }
  return c;
}

void add_heads(const Problem& p, Index dim, std::vector<Energy>& all) {
  for (Index i = 0; i < p.heads; ++i) {
    const Dense q = p.block(p.query, i, i), k = p.block(p.key, i, i);
    const Index most = std::min(dim, p.width);
    all.push_back({"head_query", i, cumulative(eigenvalues(q), most)});
    all.push_back({"head_key", i, cumulative(eigenvalues(k), most)});
    all.push_back({"head_product", i, cumulative(eigenvalues_of_product(q, k), most)});
  }
}

HeadWeights random_weights(std::size_t dim, std::size_t features, std::size_t heads, std::uint64_t seed,
                           int number, bool shared) {
  const auto drawn = [&](const char* what, std::size_t rows) {
    Stream numbers(seed, Purpose::analytic, name_hash(what), static_cast<std::uint64_t>(number));
    Array<double> a{{rows, features}, std::vector<double>(rows * features)};
    for (double& x : a.elements) x = numbers.normal();
    return a;
  };
  Array<double> query = drawn("spectrum query", dim), key = drawn("spectrum key", dim);
  if (shared) return heads_of({std::move(query), std::move(key), drawn("spectrum mixing", heads)});
  return {heads, std::move(query), std::move(key)};
}

void widen(std::vector<Band>& bands, const Energy& energy) {
  const auto found = std::ranges::find(bands, energy.kind, &Band::kind);
  if (found == bands.end()) {
    bands.push_back({energy.kind, energy.cumulative, energy.cumulative});
    return;
  }
  for (std::size_t j = 0; j < energy.cumulative.size(); ++j) {
    found->low[j] = std::min(found->low[j], energy.cumulative[j]);
    found->high[j] = std::max(found->high[j], energy.cumulative[j]);
  }
}

}  // namespace

std::vector<Energy> spectrum(const HeadWeights& weights) {
  pin_blocks();
  const Problem p = problem(weights, {});
  const auto dim = static_cast<Index>(weights.query.shape[0]), most = std::min(dim, p.features());
  std::vector<Energy> all;
  add_heads(p, dim, all);
  all.push_back({"query", -1, cumulative(eigenvalues(p.query), most)});
  all.push_back({"key", -1, cumulative(eigenvalues(p.key), most)});
  all.push_back({"product", -1, cumulative(eigenvalues_of_product(p.query, p.key), most)});
  const Unfoldings tensor = unfoldings(p);
  all.push_back({"unfolding_query", -1, cumulative(tensor.query, most)});
  all.push_back({"unfolding_key", -1, cumulative(tensor.key, most)});
  all.push_back({"unfolding_heads", -1, cumulative(tensor.heads, p.heads)});
  return all;
}

std::vector<Band> random_band(std::size_t dim, std::size_t features, std::size_t heads, int draws,
                              std::uint64_t seed, bool shared) {
  std::vector<Band> bands;
  for (int n = 0; n < draws; ++n)
    for (const Energy& energy : spectrum(random_weights(dim, features, heads, seed, n, shared)))
      widen(bands, energy);
  return bands;
}

double at_share(const std::vector<double>& cumulative, double share) {
  const double place = share * static_cast<double>(cumulative.size());
  const auto below = std::min(static_cast<std::size_t>(place), cumulative.size());
  const auto c = [&](std::size_t j) { return j == 0 ? 0 : cumulative[std::min(j, cumulative.size()) - 1]; };
  return c(below) + (place - static_cast<double>(below)) * (c(below + 1) - c(below));
}

}  // namespace headlab::collaborative
