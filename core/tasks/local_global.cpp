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

/// The best constant answer is each token's own position: right in all local sequences and, as the smallest
/// token stands somewhere, for one token of a global one.
double chance(const Config& c, std::int64_t length) {
  const double global = std::pow(1 - 1 / static_cast<double>(c.task.vocabulary), length);
  return 1 - global + global / static_cast<double>(length);
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
