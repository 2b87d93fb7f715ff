#include "core/analytic/exclusive_or.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

namespace headlab {
namespace {

using Row = std::array<double, 2>;
using Rows = std::array<Row, 4>;  // pairs 00, 01, 10, 11
using Outputs = std::array<double, 4>;
using Theta = std::vector<double>;  // each in [-1, 1]
constexpr Outputs wanted{0, 1, 1, 0};
constexpr unsigned all_pairs = 0b1111;

double cross(const Row& a, const Row& b) { return a[0] * b[1] - a[1] * b[0]; }
double dot(const Outputs& a, const Outputs& b) {
  double sum = 0;
  for (std::size_t p = 0; p < 4; ++p) sum += a[p] * b[p];
  return sum;
}
double unit(double x) { return (1 + x) / 2; }  // [-1, 1] to [0, 1]

/// An aggregation's weights of the two values, for each pair of bits.
struct Head {
  const char *aggregation, *query;
  std::size_t choices;  // entries of theta
  Rows (*weights)(const Theta&);
  double mean_squared_bound, largest_bound;
};
const Head heads[]{
    {"softmax", "fixed", 1,
     [](const Theta& c) -> Rows {
       const Row mixed{1 - unit(c[0]), unit(c[0])};
       return {{{1, 0}, mixed, mixed, {0, 1}}};
     },
     1. / 6, 1. / 2},
    {"softmax", "own", 2,
     [](const Theta& c) -> Rows {
       return {{{1, 0}, {1 - unit(c[0]), unit(c[0])}, {1 - unit(c[1]), unit(c[1])}, {0, 1}}};
     },
     1. / 6, 1. / 2},
    {"nap", "fixed", 2,  // bias b and gain times the normalised logits
     [](const Theta& c) -> Rows {
       const Row mixed{c[0] - c[1], c[0] + c[1]};
       return {{{2 * c[0], 0}, mixed, mixed, {0, 2 * c[0]}}};
     },
     0, 0},
    {"nap", "own", 3,
     [](const Theta& c) -> Rows {
       return {{{2 * c[0], 0}, {c[0] - c[1], c[0] + c[1]}, {c[0] - c[2], c[0] + c[2]}, {0, 2 * c[0]}}};
     },
     0, 0},
    {"non", "fixed", 2,
     [](const Theta& c) -> Rows { return {{{2 * c[0], 0}, {c[0], c[1]}, {c[0], c[1]}, {0, 2 * c[1]}}}; },
     1. / 4, 1. / 2},
    {"non", "own", 4,  // logits 00, 01, 10, 11
     [](const Theta& c) -> Rows { return {{{2 * c[0], 0}, {c[0], c[1]}, {c[2], c[3]}, {0, 2 * c[3]}}}; }, 0,
     0},
    {"sum", "none", 0, [](const Theta&) -> Rows { return {{{2, 0}, {1, 1}, {1, 1}, {0, 2}}}; }, 1. / 4,
     1. / 2},
    {"max", "none", 4,
     [](const Theta& c) -> Rows {
       const Row mixed{std::max(c[0], c[2]), std::max(c[1], c[3])};
       return {{{c[0], c[1]}, mixed, mixed, {c[2], c[3]}}};
     },
     0, 0}};

/// What is wanted, projected on what the pairs of a set can be given: Gram and Schmidt.
Outputs projection(const Rows& rows, unsigned pairs) {
  constexpr double negligible = 1e-12;
  Outputs fitted{}, left = wanted;
  std::array<Outputs, 2> basis{};
  for (std::size_t v = 0; v < 2; ++v) {
    Outputs& column = basis[v];
    for (std::size_t p = 0; p < 4; ++p) column[p] = pairs >> p & 1 ? rows[p][v] : 0;
    const double share = v == 1 ? dot(column, basis[0]) : 0, before = dot(column, column);
    for (std::size_t p = 0; p < 4; ++p) column[p] -= share * basis[0][p];
    const double norm = std::sqrt(dot(column, column));
    const bool is_new = norm * norm > negligible * before;
    for (double& x : column) x = is_new ? x / norm : 0;
    const double along = dot(column, left);
    for (std::size_t p = 0; p < 4; ++p) fitted[p] += along * column[p], left[p] -= along * column[p];
  }
  return fitted;
}
double squares(const Rows& rows, unsigned pairs) {
  const Outputs fitted = projection(rows, pairs);
  double sum = 0;
  for (std::size_t p = 0; p < 4; ++p) sum += pairs >> p & 1 ? std::pow(fitted[p] - wanted[p], 2) : 0;
  return sum;
}

/// The bound on the largest error that one dual vector gives.
double bound(const Outputs& dual) {
  double size = 0;
  for (const double x : dual) size += std::abs(x);
  return size > 0 ? std::abs(dot(dual, wanted)) / size : 0;
}
double largest_error(const Rows& a) {
  double worst = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    if (a[i] == Row{}) worst = std::max(worst, wanted[i]);
    for (std::size_t j = i + 1; j < 4; ++j) {
      if (cross(a[i], a[j]) == 0) {
        const bool first = a[i][0] != 0 || a[j][0] != 0;  // the axis on which they are not both zero
        Outputs dual{};
        dual[i] = a[j][first ? 0 : 1], dual[j] = -a[i][first ? 0 : 1];
        worst = std::max(worst, bound(dual));
      }
      for (std::size_t k = j + 1; k < 4; ++k) {
        Outputs dual{};
        dual[i] = cross(a[j], a[k]), dual[j] = cross(a[k], a[i]), dual[k] = cross(a[i], a[j]);
        worst = std::max(worst, bound(dual));
      }
    }
  }
  return worst;
}

using Loss = std::function<double(const Theta&)>;

/// Coordinate by coordinate with steps that halve.
std::pair<double, Theta> descend(const Loss& loss, Theta theta) {
  double best = loss(theta);
  for (int halvings = 2; halvings < 40; ++halvings)
    for (std::size_t k = 0; k < theta.size(); ++k)
      for (const double step = std::ldexp(1, -halvings);
           const double to : {theta[k] - step, theta[k] + step}) {
        Theta other = theta;
        other[k] = std::clamp(to, -1., 1.);
        if (const double l = loss(other); l < best) best = l, theta = other;
      }
  return {best, theta};
}

/// The smallest loss, from starts on a grid that holds the ends and the middle of each range.
std::pair<double, Theta> minimum(const Loss& loss, std::size_t choices) {
  constexpr int places = 5;
  std::pair<double, Theta> best = descend(loss, Theta(choices, 0));
  for (int start = 0; start < std::pow(places, choices); ++start) {
    Theta theta(choices);
    for (int rest = start; double& x : theta) x = rest % places * 2. / (places - 1) - 1, rest /= places;
    best = std::min(best, descend(loss, theta));
  }
  return best;
}

int most_exact(const Head& head) {
  int most = 0;
  for (unsigned pairs = 1; pairs <= all_pairs; ++pairs) {
    const int count = std::popcount(pairs);
    const auto loss = [&](const Theta& theta) { return squares(head.weights(theta), pairs); };
    if (count > most && minimum(loss, head.choices).first < 1e-9) most = count;
  }
  return most;
}

ExclusiveOrFit fit(const Head& head) {
  const auto square = [&](const Theta& theta) { return squares(head.weights(theta), all_pairs) / 4; };
  const auto largest = [&](const Theta& theta) { return largest_error(head.weights(theta)); };
  const auto [mean_squared_error, theta] = minimum(square, head.choices);
  return {.aggregation = head.aggregation,
          .query = head.query,
          .outputs = projection(head.weights(theta), all_pairs),
          .mean_squared_error = mean_squared_error,
          .largest_error = minimum(largest, head.choices).first,
          .exact = most_exact(head),
          .mean_squared_bound = head.mean_squared_bound,
          .largest_bound = head.largest_bound};
}

}  // namespace

std::vector<ExclusiveOrFit> exclusive_or() {
  std::vector<ExclusiveOrFit> fits;
  std::ranges::transform(heads, std::back_inserter(fits), fit);
  return fits;
}

}  // namespace headlab
