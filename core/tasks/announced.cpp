#include "core/tasks/announced.hpp"

#include <cmath>
#include <cstdlib>

namespace headlab {

std::int32_t argmin(ConstTokens tokens) {
  return static_cast<std::int32_t>(std::ranges::min_element(tokens) - tokens.begin());
}
std::int32_t argmax(ConstTokens tokens) {
  return static_cast<std::int32_t>(std::ranges::max_element(tokens) - tokens.begin());
}

void place(Stream& stream, Tokens tokens, std::int64_t token) {
  tokens[stream.below(tokens.size())] = static_cast<std::int32_t>(token);
}

void draw_announced(const Config& config, bool biased, Stream& stream, Tokens tokens) {
  const auto [vocabulary, token] = std::pair(config.task.vocabulary, config.task.argmin_token);
  const std::int64_t bias = biased ? config.task.case_bias : 0;
  stream.fill_below(static_cast<std::uint64_t>(vocabulary), tokens);
  for (std::int64_t pass = 0; pass < std::abs(bias) && holds(tokens, token) == (bias < 0); ++pass) {
    if (stream.below(2) == 0) continue;
    if (bias > 0)
      place(stream, tokens, token);
    else
      redraw(stream, vocabulary, tokens, [token](std::int64_t t) { return t == token; });
  }
}

Announced announced(const Config& config, bool biased, std::int64_t length) {
  const auto bias = static_cast<double>(biased ? config.task.case_bias : 0);
  const double untouched = std::exp2(-std::abs(bias));
  const double without = std::pow(1 - 1 / static_cast<double>(config.task.vocabulary), length);
  if (bias <= 0) return {(1 - without) * untouched, 0, without + (1 - without) * (1 - untouched)};
  return {1 - without, without * (1 - untouched), without * untouched};
}

Sequences balanced_set(const Config& config, std::int64_t length, const Balance& balance) {
  Sequences set{config.eval.case_sequences, length, {}, {}, {}};
  std::vector open(balance.cases, set.count / static_cast<std::int64_t>(balance.cases));
  std::vector<std::uint32_t> cases;
  const auto draw = [&](Stream& stream, Tokens tokens) {
    draw_announced(config, false, stream, tokens);
    balance.repair(config, open, stream, tokens);
    cases.push_back(task(config.task.name).counters(config, tokens));
  };
  sequences(config, Purpose::balanced, static_cast<std::uint64_t>(length), set, draw);
  set.cases = std::move(cases);
  return set;
}

}  // namespace headlab
