#pragma once
// The tasks once more, as plainly as they can be said, to compare with.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/config/keys.hpp"
#include "core/config/resolve.hpp"
#include "core/tasks/task.hpp"

namespace headlab::test {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Sequence = std::vector<std::int32_t>;

inline Config config(const Pairs& pairs) {
  Source source;
  for (const auto& [name, text] : pairs) source.settings.push_back({name, text, "command line"});
  return resolve(core_keys(), {source}).config;
}
inline Config config(const std::string& name, Pairs pairs = {}) {
  pairs.emplace_back("task.name", name);
  return config(pairs);
}
/// A task of few sequences, all of which can be gone through: tokens 1 and 2 announce the cases.
inline Config tiny(const std::string& name, std::int64_t vocabulary, std::int64_t length, Pairs pairs = {}) {
  pairs.insert(pairs.end(), {{"task.vocabulary", std::to_string(vocabulary)},
                             {"task.length", std::to_string(length)},
                             {"task.argmin_token", "1"},
                             {"task.first_token", vocabulary > 2 ? "2" : "0"},
                             {"eval.relative_lengths", "1"}});
  if (length == 1 || vocabulary == 2) pairs.emplace_back("eval.case_sequences", "0");
  return config(name, pairs);
}
inline const std::vector<std::string> names{"argmin_first_argmax", "mode", "local_global"};

inline Sequence label(const Config& c, const Sequence& tokens) {
  const bool every = task(c.task.name).form(c).answer == Answer::every_token;
  Sequence labels(every ? tokens.size() : 1);
  task(c.task.name).label(c, tokens, labels);
  return labels;
}

/// All sequences of a length, in lexicographic order.
inline std::vector<Sequence> all_sequences(std::int64_t vocabulary, std::int64_t length) {
  std::vector<Sequence> all{{}};
  for (std::int64_t place = 0; place < length; ++place) {
    std::vector<Sequence> longer;
    for (const Sequence& head : all)
      for (std::int32_t token = 0; token < vocabulary; ++token) {
        longer.push_back(head);
        longer.back().push_back(token);
      }
    all = std::move(longer);
  }
  return all;
}

/// Tokens of one sequence of a set.
inline Sequence row(const std::vector<std::int32_t>& of, std::size_t b, std::size_t width) {
  const auto start = of.begin() + static_cast<std::ptrdiff_t>(b * width);
  return {start, start + static_cast<std::ptrdiff_t>(width)};
}
inline std::vector<Sequence> rows(const Sequences& set) {
  std::vector<Sequence> all;
  for (std::int64_t b = 0; b < set.count; ++b)
    all.push_back(row(set.tokens, static_cast<std::size_t>(b), static_cast<std::size_t>(set.length)));
  return all;
}

/// The tasks once more, as plainly as they can be said.
namespace plain {

inline bool has(const Sequence& s, std::int64_t token) { return std::ranges::count(s, token) > 0; }
/// Position of the first token to which none is preferred.
template <class Preferred>
inline std::int32_t first_best(const Sequence& s, Preferred preferred) {
  for (std::size_t i = 0; i < s.size(); ++i)
    if (std::ranges::none_of(s, [&](std::int32_t t) { return preferred(t, s[i]); }))
      return static_cast<std::int32_t>(i);
  return -1;
}
inline std::int32_t smallest(const Sequence& s) { return first_best(s, std::less()); }
inline std::int32_t largest(const Sequence& s) { return first_best(s, std::greater()); }

inline Sequence label(const Config& c, const Sequence& s) {
  const auto& t = c.task;
  if (t.name == TaskName::mode) {
    std::map<std::int32_t, int> counts;
    for (const std::int32_t token : s) ++counts[token];
    std::vector<std::pair<int, std::int32_t>> ranks;
    for (const auto& [token, count] : counts) ranks.emplace_back(-count, token);
    return {std::ranges::min(ranks).second};
  }
  if (t.name == TaskName::argmin_first_argmax)
    return {has(s, t.argmin_token) ? smallest(s) : has(s, t.first_token) ? 0 : largest(s)};
  Sequence labels;
  for (std::size_t i = 0; i < s.size(); ++i)
    labels.push_back(has(s, t.argmin_token) ? static_cast<std::int32_t>(i) : smallest(s));
  return labels;
}

/// Names of the counters in which a sequence counts.
inline std::set<std::string> counters(const Config& c, const Sequence& s) {
  if (c.task.name == TaskName::local_global) return {has(s, c.task.argmin_token) ? "local" : "global"};
  std::set<std::string> names;
  const std::string kind = has(s, c.task.argmin_token)  ? "argmin"
                           : has(s, c.task.first_token) ? "first"
                                                        : "argmax";
  names.insert(kind);
  if (kind != "argmax" && smallest(s) == 0) names.insert(kind + "_minimum_at_0");
  if (kind != "argmin" && largest(s) == 0) names.insert(kind + "_maximum_at_0");
  return names;
}

struct Random {
  std::mt19937_64 engine;
  std::int32_t below(std::int64_t n) {
    return static_cast<std::int32_t>(std::uniform_int_distribution(std::int64_t{0}, n - 1)(engine));
  }
  Sequence uniform(const Config& c, std::size_t length) {
    Sequence s(length);
    for (std::int32_t& token : s) token = below(c.task.vocabulary);
    return s;
  }
  /// Redraws all of these tokens at once, until none is left.
  void redraw(const Config& c, Sequence& s, const std::set<std::int64_t>& unwanted) {
    while (std::ranges::any_of(s, [&](std::int64_t t) { return unwanted.contains(t); }))
      for (std::int32_t& token : s)
        if (unwanted.contains(token)) token = below(c.task.vocabulary);
  }
  void write(Sequence& s, std::int64_t token) {
    s[static_cast<std::size_t>(below(static_cast<std::int64_t>(s.size())))] =
        static_cast<std::int32_t>(token);
  }
  Sequence biased(const Config& c, std::size_t length) {
    Sequence s = uniform(c, length);
    for (int pass = 0; pass < std::abs(c.task.case_bias); ++pass) {
      const bool present = has(s, c.task.argmin_token), chosen = below(2) == 1;
      if (c.task.case_bias > 0 && !present && chosen) write(s, c.task.argmin_token);
      if (c.task.case_bias < 0 && present && chosen) redraw(c, s, {c.task.argmin_token});
    }
    return s;
  }
  std::vector<Sequence> balanced_three(const Config& c, std::size_t length) {
    const std::int64_t a = c.task.argmin_token, f = c.task.first_token;
    std::int64_t argmin_open = c.eval.case_sequences / 3, first_open = argmin_open, argmax_open = argmin_open;
    std::vector<Sequence> set;
    while (argmin_open + first_open + argmax_open > 0) {
      Sequence s = uniform(c, length);
      std::int64_t* taken = nullptr;
      if (has(s, a)) {
        if (argmin_open > 0)
          taken = &argmin_open;
        else
          redraw(c, s, {a});
      }
      if (taken == nullptr && has(s, f)) {
        if (first_open > 0)
          taken = &first_open;
        else
          redraw(c, s, {a, f});
      }
      if (taken == nullptr && argmax_open > 0) taken = &argmax_open;
      if (taken == nullptr) {
        taken = first_open > 0 ? &first_open : &argmin_open;
        write(s, first_open > 0 ? f : a);
      }
      --*taken;
      set.push_back(s);
    }
    return set;
  }
  std::vector<Sequence> balanced_two(const Config& c, std::size_t length) {
    std::int64_t local_open = c.eval.case_sequences / 2, global_open = local_open;
    std::vector<Sequence> set;
    while (local_open + global_open > 0) {
      Sequence s = uniform(c, length);
      if (has(s, c.task.argmin_token) && local_open == 0) redraw(c, s, {c.task.argmin_token});
      if (!has(s, c.task.argmin_token) && global_open == 0) write(s, c.task.argmin_token);
      --(has(s, c.task.argmin_token) ? local_open : global_open);
      set.push_back(s);
    }
    return set;
  }
};

}  // namespace plain

}  // namespace headlab::test
