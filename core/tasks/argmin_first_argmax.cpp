// Does the sequence hold token 64 (task.argmin_token), the answer is the position of its smallest token;
// else, does it hold token 50 (task.first_token), position 0; else the position of its largest token. The
// first occurrence counts on ties.
//   7 64  3  3 -> 2    the smallest, first of two
//   9 50  3 64 -> 2    64 goes before 50
//   7 50 99  3 -> 0
//   7 99  3 99 -> 1    the largest
#include <cmath>

#include "core/tasks/announced.hpp"

namespace headlab {
namespace {

enum Case : std::size_t { argmin_case, first_case, argmax_case };

Form form(const Config& c) {
  if (c.task.readout == Readout::across_tokens)
    return {c.task.vocabulary, true, Answer::across_tokens, 1, true};
  return {c.task.vocabulary, true, Answer::first_token, c.task.length, true};
}

Case case_of(const Config& c, ConstTokens tokens) {
  if (holds(tokens, c.task.argmin_token)) return argmin_case;
  return holds(tokens, c.task.first_token) ? first_case : argmax_case;
}

void label(const Config& c, ConstTokens tokens, Tokens labels) {
  const Case which = case_of(c, tokens);
  labels[0] = which == argmin_case ? argmin(tokens) : which == first_case ? 0 : argmax(tokens);
}

void repair(const Config& c, std::vector<std::int64_t>& open, Stream& stream, Tokens tokens) {
  const std::int64_t announces_argmin = c.task.argmin_token, announces_first = c.task.first_token;
  const auto take = [&](Case which) { --open[which]; };
  if (holds(tokens, announces_argmin)) {
    if (open[argmin_case] > 0) return take(argmin_case);
    redraw(stream, c.task.vocabulary, tokens, [&](std::int64_t t) { return t == announces_argmin; });
  }
  if (holds(tokens, announces_first)) {
    if (open[first_case] > 0) return take(first_case);
    redraw(stream, c.task.vocabulary, tokens,
           [&](std::int64_t t) { return t == announces_argmin || t == announces_first; });
  }
  if (open[argmax_case] > 0) return take(argmax_case);
  const Case missing = open[first_case] > 0 ? first_case : argmin_case;
  place(stream, tokens, missing == first_case ? announces_first : announces_argmin);
  take(missing);
}

/// Bits 0 to 6 in the order of the table's names: a model that always answers 0 is right where the smallest
/// or largest token stands there.
std::uint32_t counters(const Config& c, ConstTokens tokens) {
  const std::uint32_t minimum_at_0 = argmin(tokens) == 0, maximum_at_0 = argmax(tokens) == 0;
  switch (case_of(c, tokens)) {
    case argmin_case:
      return 1 | minimum_at_0 << 1;
    case first_case:
      return 1 << 2 | minimum_at_0 << 3 | maximum_at_0 << 4;
    default:
      return 1 << 5 | maximum_at_0 << 6;
  }
}

Sequences balanced(const Config& c, std::int64_t length) { return balanced_set(c, length, {3, repair}); }

// The best constant answer is position 0, with any case_bias: positions are exchangeable, so whatever is
// first an extreme at position j is one at 0 after swapping the two. Each sum below is over the value v of
// token 0, given which the others are iid.

double power_of_share(std::int64_t kinds, std::int64_t of, double exponent) {
  return std::pow(static_cast<double>(kinds) / static_cast<double>(of), exponent);
}

/// P(the smallest token stands at 0 and some token announces argmin), tokens uniform.
double minimum_at_0(const Config& c, double N) {
  const std::int64_t V = c.task.vocabulary, announces = c.task.argmin_token;
  double right = 0;
  for (std::int64_t v = 0; v <= announces; ++v)
    right += power_of_share(V - v, V, N - 1) - (v < announces ? power_of_share(V - v - 1, V, N - 1) : 0);
  return right / static_cast<double>(V);
}

/// P(the smallest token stands at 0), argmin_token placed at a uniform position among others that are not it:
/// either it stands at 0 itself and all others are larger, or a smaller one does.
double minimum_at_0_placed(const Config& c, double N) {
  const std::int64_t others = c.task.vocabulary - 1, announces = c.task.argmin_token;
  double right = power_of_share(others - announces, others, N - 1) / N;
  for (std::int64_t v = 0; v < announces; ++v)
    right += power_of_share(others - v, others, N - 2) / static_cast<double>(others) * (N - 1) / N;
  return right;
}

/// P(the answer is 0), tokens uniform over all but argmin_token.
double zero_without(const Config& c, double N) {
  const std::int64_t others = c.task.vocabulary - 1;
  const std::int64_t announces_argmin = c.task.argmin_token, announces_first = c.task.first_token;
  double right = 1 - power_of_share(others - 1, others, N);  // the first case
  for (std::int64_t v = 0; v < c.task.vocabulary; ++v)
    if (v != announces_argmin && v != announces_first)  // no other is larger, and none announces anything
      right += power_of_share(v + 1 - (announces_argmin < v) - (announces_first < v), others, N - 1) /
               static_cast<double>(others);
  return right;
}

double chance(const Config& c, bool biased, std::int64_t length) {
  const auto N = static_cast<double>(length);
  const Announced share = announced(c, biased, length), uniform = announced(c, false, length);
  return share.held * minimum_at_0(c, N) / uniform.held + share.placed * minimum_at_0_placed(c, N) +
         share.without * zero_without(c, N);
}

}  // namespace

extern const Task argmin_first_argmax{
    .help = "position of the smallest or largest token, or 0: which, a token announces",
    .source = "arXiv 2005.09561",
    .keys = [] { return Keys{}; },
    .form = form,
    .draw = draw_announced,
    .label = label,
    .cases = {"argmin", "argmin_minimum_at_0", "first", "first_minimum_at_0", "first_maximum_at_0", "argmax",
              "argmax_maximum_at_0"},
    .counters = counters,
    .balanced = balanced,
    .chance = chance,
};

}  // namespace headlab
