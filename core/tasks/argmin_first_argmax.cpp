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

/// The best constant answer is position 0: whatever is first an extreme at position j is one at 0 after
/// swapping the two. Summed over the value of token 0, given which the N - 1 others are iid.
double chance(const Config& c, std::int64_t length) {
  const auto V = static_cast<double>(c.task.vocabulary), N = static_cast<double>(length);
  const std::int64_t announces_argmin = c.task.argmin_token, announces_first = c.task.first_token;
  const auto others_among = [&](std::int64_t kinds) {
    return std::pow(static_cast<double>(kinds) / V, N - 1);
  };
  double right = std::pow((V - 1) / V, N) - std::pow((V - 2) / V, N);  // the first case
  for (std::int64_t v = 0; v < c.task.vocabulary; ++v) {
    if (v <= announces_argmin)  // no other is smaller, and one of all N announces argmin
      right += (others_among(c.task.vocabulary - v) -
                (v < announces_argmin ? others_among(c.task.vocabulary - v - 1) : 0)) /
               V;
    if (v != announces_argmin && v != announces_first)  // no other is larger, and none announces anything
      right += others_among(v + 1 - (announces_argmin < v) - (announces_first < v)) / V;
  }
  return right;
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
