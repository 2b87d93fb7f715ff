// A sequence holds every key 0 .. K - 1 once (K = task.length), in random order, each with a random value;
// the token of key k answers with the values of the keys pi_0(k) .. pi_(n-1)(k). The maps pi_r are drawn once
// for a seed. With K = 3, V = 8, n = 1, pi_0(k) = k + 1 mod 3, tokens as key:value:
//   2:7 0:3 1:5 -> 3 5 7
#include <algorithm>
#include <cassert>
#include <numeric>

#include "core/tasks/task.hpp"

namespace headlab {
namespace {

HEADLAB_WORDS(Relation, shift, permutation, same, disjoint)

struct MultiRelation {
  std::int64_t values{}, relations{};
  Relation relation{};
};

bool is_shift(const Config& c) { return c.of<MultiRelation>().relation == Relation::shift; }
bool is_disjoint(const Config& c) { return c.of<MultiRelation>().relation == Relation::disjoint; }

Keys keys() {
  constexpr double most_pairs = 1 << 24;
  const auto other_task = [](const Config& c) { return c.task.name != TaskName::multi_relation; };
  return {
      key("task.values", own(&MultiRelation::values), 8, "values of a key, of multi_relation", at_least(2))
          .inert_if(other_task)
          .must("at most 16777216 pairs over", "task.length",
                [](const Config& c) {
                  return double(c.of<MultiRelation>().values) * double(c.task.length) <= most_pairs;
                }),
      key("task.relations", own(&MultiRelation::relations), 4, "maps of keys, of multi_relation",
          between(1, most_pairs))
          .inert_if(other_task)
          .must(
              "below, for different shifts,", "task.length",
              [](const Config& c) { return !is_shift(c) || c.of<MultiRelation>().relations < c.task.length; })
          .must("at most, for disjoint groups,", "task.length",
                [](const Config& c) {
                  return !is_disjoint(c) || c.of<MultiRelation>().relations <= c.task.length;
                }),
      key("task.relation", own(&MultiRelation::relation), Relation::shift,
          "the maps' family, of multi_relation")
          .inert_if(other_task),
  };
}

Form form(const Config& c) {
  const auto& own = c.of<MultiRelation>();
  return {.vocabulary = c.task.length * own.values,
          .positions = false,
          .answer = Answer::every_token,
          .classes = own.values,
          .of_positions = false,
          .answers = own.relations,
          .values = own.values};
}

/// Fisher and Yates, from the last place on.
void shuffle(Stream& stream, std::span<std::int32_t> numbers) {
  for (std::size_t left = numbers.size(); left > 1; --left)
    std::swap(numbers[left - 1], numbers[stream.below(left)]);
}

std::vector<std::int32_t> identity(std::int64_t keys) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(keys));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// pi_r for all r, one after another: (n, K). Relation r draws from a stream of its own, shifts from the
/// first.
std::vector<std::int32_t> maps(const Config& c) {
  const auto& own = c.of<MultiRelation>();
  const std::vector<std::int32_t> unchanged = identity(c.task.length);
  const auto K = unchanged.size(), n = static_cast<std::size_t>(own.relations);
  const auto stream = [&](std::size_t r) { return Stream(std::uint64_t(c.seed), Purpose::task, 0, r); };
  std::vector<std::int32_t> shifts = unchanged, all;
  Stream first = stream(0);
  if (own.relation == Relation::shift) shuffle(first, std::span(shifts).subspan(1));
  for (std::size_t r = 0; r < n; ++r) {
    std::vector<std::int32_t> map = unchanged;
    Stream random = stream(own.relation == Relation::same ? 0 : r);
    if (own.relation == Relation::shift)
      std::ranges::rotate(map, map.begin() + shifts[r + 1]);
    else if (own.relation == Relation::disjoint)
      shuffle(random, std::span(map).subspan(r * K / n, (r + 1) * K / n - r * K / n));
    else
      shuffle(random, map);
    all.insert(all.end(), map.begin(), map.end());
  }
  return all;
}

void draw(const Config& c, bool /*biased*/, Stream& stream, Tokens tokens) {
  const auto values = static_cast<std::int32_t>(c.of<MultiRelation>().values);
  assert(std::ssize(tokens) == c.task.length);
  std::vector<std::int32_t> order = identity(std::ssize(tokens));
  shuffle(stream, order);
  stream.fill_below(static_cast<std::uint64_t>(values), tokens);
  for (std::size_t t = 0; t < tokens.size(); ++t) tokens[t] += order[t] * values;
}

void label(const Config& c, ConstTokens tokens, Tokens labels) {
  const auto& own = c.of<MultiRelation>();
  const auto values = static_cast<std::int32_t>(own.values);
  const std::size_t K = tokens.size(), n = static_cast<std::size_t>(own.relations);
  const std::vector<std::int32_t> map = maps(c);
  std::vector<std::int32_t> value_of(K);
  for (const std::int32_t token : tokens) value_of[std::size_t(token / values)] = token % values;
  for (std::size_t t = 0; t < K; ++t)
    for (std::size_t r = 0; r < n; ++r)
      labels[t * n + r] = value_of[std::size_t(map[r * K + std::size_t(tokens[t] / values)])];
}

}  // namespace

extern const Task multi_relation{
    .help = "every token's key stands in relations with others, whose values it answers",
    .source = "synthetic, for arXiv 2006.16362",
    .keys = keys,
    .form = form,
    .draw = draw,
    .label = label,
    .cases = {},
    .counters = nullptr,
    .balanced = nullptr,
    // Values are independent of everything that is the same for all sequences.
    .chance = [](const Config& c, bool, std::int64_t) { return 1 / double(c.of<MultiRelation>().values); },
};

}  // namespace headlab
