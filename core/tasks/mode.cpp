// The answer is the most frequent token, the smallest on ties.
//   3 1 3 0 -> 3
//   3 1 3 1 -> 1
#include <algorithm>
#include <boost/math/distributions/poisson.hpp>
#include <complex>
#include <numbers>

#include "core/tasks/task.hpp"

namespace headlab {
namespace {

Form form(const Config& c) {
  return {c.task.vocabulary, false, Answer::first_token, c.task.vocabulary, false};
}

void draw(const Config& c, bool /*biased*/, Stream& stream, Tokens tokens) {
  stream.fill_below(static_cast<std::uint64_t>(c.task.vocabulary), tokens);
}

void label(const Config& c, ConstTokens tokens, Tokens labels) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(c.task.vocabulary));
  for (const std::int32_t token : tokens) ++counts[static_cast<std::size_t>(token)];
  labels[0] = static_cast<std::int32_t>(std::ranges::max_element(counts) - counts.begin());
}

using Complex = std::complex<double>;

Complex power(Complex z, std::int64_t n) {
  Complex product = 1;
  for (; n > 0; n /= 2, z *= z)
    if (n % 2 == 1) product *= z;
  return product;
}

/// exp(2 pi i l / L) for l = 0 .. L - 1.
std::vector<Complex> unit_roots(std::size_t L) {
  std::vector<Complex> roots(L);
  for (std::size_t l = 0; l < L; ++l)
    roots[l] = std::polar(1., 2 * std::numbers::pi * static_cast<double>(l) / static_cast<double>(L));
  return roots;
}

/// The best constant answer is token 0, which wins all ties: P(no count is above that of token 0). The counts
/// of V kinds among N tokens are distributed as V independent Poisson(N/V) counts, given that their sum is N.
/// With p_k = P(Poisson(N/V) = k)
///   P = sum_c p_c [x^(N-c)] (sum_{k<=c} p_k x^k)^(V-1) / P(Poisson(N) = N),
/// each coefficient by Cauchy's formula, the mean of f(x) x^(c-N) over the L-th roots of unity. It adds the
/// coefficients of x^(N-c+L), x^(N-c+2L), ..., all below 1e-40, as are the terms of large c that are left
/// out.
double chance(const Config& c, bool /*biased*/, std::int64_t length) {
  const auto V = c.task.vocabulary;
  const double rate = static_cast<double>(length) / static_cast<double>(V);
  const auto N = static_cast<std::size_t>(length), L = 2 * N + 100;
  const boost::math::poisson count(rate), sum(static_cast<double>(length));
  const std::vector<Complex> roots = unit_roots(L);
  std::vector<Complex> truncated(L);  // sum_{k<=c} p_k x^k at each root
  double joint = 0;                   // P(token 0 answers, the sum is N)
  for (std::size_t most = 0; most <= N; ++most) {
    const double share = boost::math::pdf(count, static_cast<double>(most));
    if (static_cast<double>(most) > rate && share < 1e-40) break;
    Complex coefficient = 0;
    for (std::size_t l = 0; l < L; ++l) truncated[l] += share * roots[l * most % L];
    if (static_cast<double>(most) < rate) continue;  // the counts would not add up to N
    for (std::size_t l = 0; l < L; ++l)
      coefficient += power(truncated[l], V - 1) * roots[l * (L - N + most) % L];
    joint += share * coefficient.real() / static_cast<double>(L);
  }
  return joint / boost::math::pdf(sum, static_cast<double>(length));
}

}  // namespace

extern const Task mode{
    .help = "the most frequent token",
    .source = "arXiv 2005.09561",
    .keys = [] { return Keys{}; },
    .form = form,
    .draw = draw,
    .label = label,
    .cases = {},
    .counters = nullptr,
    .balanced = nullptr,
    .chance = chance,
};

}  // namespace headlab
