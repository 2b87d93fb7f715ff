// Does the sequence hold token 64 (task.argmin_token), every token answers its own position; else every token
// answers the position of the smallest token, the first on ties.
//   7 64  3  3 -> 0 1 2 3
//   7  5  3  3 -> 2 2 2 2
#include <cmath>
#include <numeric>

#include "core/tasks/announced.hpp"

namespace headlab {
namespace {

enum Case : std::size_t { local_case, global_case };

Form form(const Config& c) { return {c.task.vocabulary, true, Answer::every_token, c.task.length, true}; }

void label(const Config& c, ConstTokens tokens, Tokens labels) {
  if (holds(tokens, c.task.argmin_token))
    std::iota(labels.begin(), labels.end(), 0);
  else
    std::ranges::fill(labels, argmin(tokens));
}

void repair(const Config& c, std::vector<std::int64_t>& open, Stream& stream, Tokens tokens) {
  const std::int64_t announces_local = c.task.argmin_token;
  const auto take = [&](Case which) { --open[which]; };
  if (holds(tokens, announces_local)) {
    if (open[local_case] > 0) return take(local_case);
    redraw(stream, c.task.vocabulary, tokens, [&](std::int64_t t) { return t == announces_local; });
  }
  if (open[global_case] > 0) return take(global_case);
  place(stream, tokens, announces_local);
  take(local_case);
}

std::uint32_t counters(const Config& c, ConstTokens tokens) {
  return holds(tokens, c.task.argmin_token) ? 1 << local_case : 1 << global_case;
}

Sequences balanced(const Config& c, std::int64_t length) { return balanced_set(c, length, {2, repair}); }

/// P(the smallest of N tokens, uniform over some kinds, stands first at a position): a sum over how many
/// kinds are larger than it.
double minimum_at(std::int64_t position, std::int64_t kinds, std::int64_t N) {
  const auto before = static_cast<double>(position), after = static_cast<double>(N - 1 - position);
  const auto all = static_cast<double>(kinds);
  double sum = 0;
  for (std::int64_t larger = 0; larger < kinds; ++larger) {
    const auto above = static_cast<double>(larger);
    sum += std::pow(above / all, before) * std::pow((above + 1) / all, after);
  }
  return sum / all;
}

/// The best constant answer of a token is its own position, right in all local sequences and, as the smallest
/// token stands somewhere, for one token of a global one; or, where local ones are rarer than that, position
/// 0, where the smallest token stands most often.
double chance(const Config& c, bool biased, std::int64_t length) {
  const Announced share = announced(c, biased, length);
  const std::int64_t kinds = c.task.vocabulary - 1;
  const auto N = static_cast<double>(length);
  const double local = share.held + share.placed, zero = share.without * minimum_at(0, kinds, length);
  const auto own = [&](std::int64_t position) {
    return local + share.without * minimum_at(position, kinds, length);
  };
  if (own(length - 1) >= zero) return local + share.without / N;  // the last is that of the fewest minima
  double right = 0;
  for (std::int64_t position = 0; position < length; ++position) right += std::max(own(position), zero);
  return right / N;
}

}  // namespace

extern const Task local_global{
    .help = "every token's own position, or the smallest token's: which, a token announces",
    .source = "arXiv 2005.09561",
    .keys = [] { return Keys{}; },
    .form = form,
    .draw = draw_announced,
    .label = label,
    .cases = {"local", "global"},
    .counters = counters,
    .balanced = balanced,
    .chance = chance,
};

}  // namespace headlab
