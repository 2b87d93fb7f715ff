#pragma once
// What tasks have in common in which the presence of task.argmin_token decides what is asked.
#include <algorithm>
#include <vector>

#include "core/tasks/task.hpp"

namespace headlab {

inline bool holds(ConstTokens tokens, std::int64_t token) {
  return std::ranges::find(tokens, static_cast<std::int32_t>(token)) != tokens.end();
}

/// Position of the smallest, of the largest token, the first on ties: (3 1 1 3) -> 1, 0.
std::int32_t argmin(ConstTokens tokens);
std::int32_t argmax(ConstTokens tokens);

/// Redraws the unwanted tokens until none is left: each becomes uniform over the wanted ones.
template <class Predicate>
void redraw(Stream& stream, std::int64_t vocabulary, Tokens tokens, Predicate unwanted) {
  for (std::int32_t& token : tokens)
    while (unwanted(token))
      token = static_cast<std::int32_t>(stream.below(static_cast<std::uint64_t>(vocabulary)));
}

/// Writes the token at a uniform position.
void place(Stream& stream, Tokens tokens, std::int64_t token);

/// Task::draw: tokens iid uniform, then, for training, |case_bias| passes. In each, with probability 1/2,
/// case_bias > 0: a sequence without argmin_token gets one at a uniform position;
/// case_bias < 0: a sequence with it has all of them redrawn until none is left.
void draw_announced(const Config& config, bool biased, Stream& stream, Tokens tokens);

/// Shares of draw_announced, exact. With q = 1 - (1 - 1/V)^N of uniform sequences that hold argmin_token and
/// h = 2^-|case_bias|, those that no pass touches are a sample of the uniform ones, and a redrawn one is as
/// one that never held the token:
///   case_bias < 0: held = h q,  placed = 0,                 without = 1 - h q;
///   case_bias > 0: held = q,    placed = (1 - h) (1 - q),   without = h (1 - q).
struct Announced {
  double held;     ///< hold argmin_token, distributed as uniform sequences that hold it
  double placed;   ///< hold it once, at a uniform position, all other tokens uniform over the other V - 1
  double without;  ///< all tokens uniform over the other V - 1
};
Announced announced(const Config& config, bool biased, std::int64_t length);

/// A balanced set as its task sees it; `open[k]` sequences of case k are still to be taken.
struct Balance {
  std::size_t cases;
  /// Makes a uniform sequence one of an open case and counts it in `open`.
  void (*repair)(const Config&, std::vector<std::int64_t>& open, Stream&, Tokens);
};

/// Task::balanced: the first eval.case_sequences uniform sequences of Purpose::balanced, repaired one by one.
Sequences balanced_set(const Config& config, std::int64_t length, const Balance& balance);

}  // namespace headlab
