// The answer is the most frequent token, the smallest on ties.
//   3 1 3 0 -> 3
//   3 1 3 1 -> 1
#include <algorithm>
#include <boost/math/distributions/poisson.hpp>
#include <cmath>
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

/// Calls f(l, l * step mod L) for l = 0 .. L - 1; step < L.
template <class F>
void for_multiples(std::size_t step, std::size_t L, const F& f) {
  for (std::size_t l = 0, at = 0; l < L; ++l, at = at + step < L ? at + step : at + step - L) f(l, at);
}

/// exp(2 pi i l / L) for l = 0 .. L - 1.
std::vector<Complex> unit_roots(std::size_t L) {
  std::vector<Complex> roots(L);
  for (std::size_t l = 0; l < L; ++l)
    roots[l] = std::polar(1., 2 * std::numbers::pi * static_cast<double>(l) / static_cast<double>(L));
  return roots;
}

/// A Poisson count of this mean is farther from it than this with a probability below 1e-40: Bernstein's
/// inequality, exp(-d^2 / (2 (mean + d/3))), where the exponent is 93.
double reach(double mean) {
  constexpr double nepers = 93;
  return std::sqrt(2 * nepers * mean + nepers * nepers / 9) + nepers / 3;
}

/// The best constant answer is token 0, which wins all ties: P(no count is above that of token 0). The counts
/// of V kinds among N tokens are distributed as V independent Poisson(N/V) counts, given that their sum is N.
/// With p_k = P(Poisson(N/V) = k)
///   P = sum_c p_c [x^(N-c)] (sum_{k<=c} p_k x^k)^(V-1) / P(Poisson(N) = N),
/// each coefficient by Cauchy's formula, the mean of f(x) x^(c-N) over the L-th roots of unity. Left out are
/// the k and c out of reach of N/V. Cauchy's formula adds the coefficients of x^(N-c+L), x^(N-c-L), ...,
/// which are at most P(Poisson(N - N/V) = N-c+L), ...: out of reach with this L. So the time goes with N,
/// not its square.
double chance(const Config& c, bool /*biased*/, std::int64_t length) {
  const auto V = c.task.vocabulary;
  const auto all = static_cast<double>(length), rate = all / static_cast<double>(V);
  const auto least = static_cast<std::size_t>(std::max(rate - reach(rate), 0.)),
             most = static_cast<std::size_t>(std::min(rate + reach(rate), all)),
             N = static_cast<std::size_t>(length), L = 2 + static_cast<std::size_t>(reach(all) + reach(rate));
  const boost::math::poisson count(rate), sum(all);
  const std::vector<Complex> roots = unit_roots(L);
  std::vector<Complex> truncated(L);  // sum_{k<=c} p_k x^k at each root
  double joint = 0;                   // P(token 0 answers, the sum is N)
  for (std::size_t k = least; k <= most; ++k) {
    const double share = boost::math::pdf(count, static_cast<double>(k));
    for_multiples(k % L, L, [&](auto l, auto at) { truncated[l] += share * roots[at]; });
    if (static_cast<double>(k) < rate) continue;  // the counts would not add up to N
    Complex coefficient = 0;
    for_multiples((L - (N - k) % L) % L, L,
                  [&](auto l, auto at) { coefficient += power(truncated[l], V - 1) * roots[at]; });
    joint += share * coefficient.real() / static_cast<double>(L);
  }
  return joint / boost::math::pdf(sum, all);
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
