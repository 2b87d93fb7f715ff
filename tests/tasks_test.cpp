#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "core/base/error.hpp"
#include "core/config/keys.hpp"
#include "core/config/resolve.hpp"
#include "core/tasks/task.hpp"

namespace headlab::test {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Sequence = std::vector<std::int32_t>;

Config config(const Pairs& pairs) {
  Source source;
  for (const auto& [name, text] : pairs) source.settings.push_back({name, text, "command line"});
  return resolve(core_keys(), {source}).config;
}
Config config(const std::string& name, Pairs pairs = {}) {
  pairs.emplace_back("task.name", name);
  return config(pairs);
}
/// A task of few sequences, all of which can be gone through: tokens 1 and 2 announce the cases.
Config tiny(const std::string& name, std::int64_t vocabulary, std::int64_t length, Pairs pairs = {}) {
  pairs.insert(pairs.end(), {{"task.vocabulary", std::to_string(vocabulary)},
                             {"task.length", std::to_string(length)},
                             {"task.argmin_token", "1"},
                             {"task.first_token", vocabulary > 2 ? "2" : "0"},
                             {"eval.relative_lengths", "1"}});
  if (length == 1 || vocabulary == 2) pairs.emplace_back("eval.case_sequences", "0");
  return config(name, pairs);
}
const std::vector<std::string> names{"argmin_first_argmax", "mode", "local_global"};

Sequence label(const Config& c, const Sequence& tokens) {
  const bool every = task(c.task.name).form(c).answer == Answer::every_token;
  Sequence labels(every ? tokens.size() : 1);
  task(c.task.name).label(c, tokens, labels);
  return labels;
}

/// All sequences of a length, in lexicographic order.
std::vector<Sequence> all_sequences(std::int64_t vocabulary, std::size_t length) {
  std::vector<Sequence> all{{}};
  for (std::size_t place = 0; place < length; ++place) {
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

/// The tasks once more, as plainly as they can be said.
namespace plain {

bool has(const Sequence& s, std::int64_t token) { return std::ranges::count(s, token) > 0; }
/// Position of the first token to which none is preferred.
template <class Preferred>
std::int32_t first_best(const Sequence& s, Preferred preferred) {
  for (std::size_t i = 0; i < s.size(); ++i)
    if (std::ranges::none_of(s, [&](std::int32_t t) { return preferred(t, s[i]); }))
      return static_cast<std::int32_t>(i);
  return -1;
}
std::int32_t smallest(const Sequence& s) { return first_best(s, std::less()); }
std::int32_t largest(const Sequence& s) { return first_best(s, std::greater()); }

Sequence label(const Config& c, const Sequence& s) {
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
std::set<std::string> counters(const Config& c, const Sequence& s) {
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

/// Of each answer fixed beforehand, how often it is right over all sequences; the best for each place.
double best_constant(const Config& c, std::size_t length) {
  const std::vector<Sequence> all = all_sequences(c.task.vocabulary, length);
  std::vector<std::map<std::int32_t, double>> right;
  for (const Sequence& s : all) {
    const Sequence labels = plain::label(c, s);
    right.resize(labels.size());
    for (std::size_t place = 0; place < labels.size(); ++place) right[place][labels[place]] += 1;
  }
  double sum = 0;
  for (const auto& answers : right)
    sum += std::ranges::max_element(answers, {}, [](const auto& a) { return a.second; })->second;
  return sum / static_cast<double>(right.size() * all.size());
}

/// Every sequence of up to six tokens of up to five kinds, and the whole of them for the chance level.
TEST(Tasks, LabelsAndChanceOverAllSequences) {
  for (const std::string& name : names)
    for (std::int64_t vocabulary = 2; vocabulary <= 5; ++vocabulary)
      for (std::size_t length = 1; length <= 6; ++length) {
        const Config c = tiny(name, vocabulary, static_cast<std::int64_t>(length));
        for (const Sequence& s : all_sequences(vocabulary, length))
          ASSERT_EQ(label(c, s), plain::label(c, s)) << name;
        EXPECT_NEAR(task(c.task.name).chance(c, c.task.length), best_constant(c, length), 1e-14)
            << name << ' ' << vocabulary << ' ' << length;
      }
}

TEST(Tasks, WorkedExamples) {
  const Config three = config("argmin_first_argmax"), mode = config("mode"), two = config("local_global");
  EXPECT_EQ(label(three, {7, 64, 3, 3}), (Sequence{2}));
  EXPECT_EQ(label(three, {9, 50, 3, 64}), (Sequence{2}));
  EXPECT_EQ(label(three, {64, 99, 64, 70}), (Sequence{0}));
  EXPECT_EQ(label(three, {7, 50, 99, 3}), (Sequence{0}));
  EXPECT_EQ(label(three, {7, 99, 3, 99}), (Sequence{1}));
  EXPECT_EQ(label(mode, {3, 1, 3, 0}), (Sequence{3}));
  EXPECT_EQ(label(mode, {3, 1, 3, 1}), (Sequence{1}));
  EXPECT_EQ(label(mode, {9, 8, 7}), (Sequence{7}));
  EXPECT_EQ(label(two, {7, 64, 3, 3}), (Sequence{0, 1, 2, 3}));
  EXPECT_EQ(label(two, {7, 5, 3, 3}), (Sequence{2, 2, 2, 2}));
}

TEST(Tasks, Forms) {
  const auto form = [](const std::string& name, const Pairs& pairs = {}) {
    const Config c = config(name, pairs);
    const Form f = task(c.task.name).form(c);
    return std::tuple(f.vocabulary, f.positions, f.answer, f.classes, f.of_positions);
  };
  EXPECT_EQ(form("argmin_first_argmax"), std::tuple(100, true, Answer::across_tokens, 1, true));
  EXPECT_EQ(form("argmin_first_argmax", {{"task.readout", "first_token"}, {"task.length", "32"}}),
            std::tuple(100, true, Answer::first_token, 32, true));
  EXPECT_EQ(form("mode", {{"task.vocabulary", "7"}}), std::tuple(7, false, Answer::first_token, 7, false));
  EXPECT_EQ(form("local_global", {{"task.length", "32"}}),
            std::tuple(100, true, Answer::every_token, 32, true));
}

/// Tokens of one sequence of a set.
Sequence row(const std::vector<std::int32_t>& of, std::size_t b, std::size_t width) {
  const auto start = of.begin() + static_cast<std::ptrdiff_t>(b * width);
  return {start, start + static_cast<std::ptrdiff_t>(width)};
}
std::vector<Sequence> rows(const Sequences& set) {
  std::vector<Sequence> all;
  for (std::size_t b = 0; b < static_cast<std::size_t>(set.count); ++b)
    all.push_back(row(set.tokens, b, static_cast<std::size_t>(set.length)));
  return all;
}

TEST(Tasks, SequencesAreLabelled) {
  for (const std::string& name : names)
    for (const std::int64_t length : {128, 64, 1}) {
      const Config c = config(name, {{"task.case_bias", "1"}});
      const Sequences set = sequences(c, Purpose::training, 5, 200, length);
      const std::vector<Sequence> drawn = rows(set);
      const std::size_t answers = set.labels.size() / 200;
      EXPECT_EQ(answers, name == "local_global" ? static_cast<std::size_t>(length) : 1);
      for (std::size_t b = 0; b < 200; ++b)
        ASSERT_EQ(row(set.labels, b, answers), plain::label(c, drawn[b])) << name;
      EXPECT_TRUE(set.cases.empty());
    }
}

TEST(Tasks, TokensAreUniform) {
  for (const std::string& name : names) {
    const Config c = config(name);
    constexpr std::int64_t count = 10'000;
    const Sequences set = sequences(c, Purpose::training, 0, count, 128);
    const auto V = static_cast<std::size_t>(c.task.vocabulary);
    const double share = 1 / static_cast<double>(V);
    std::vector<std::int64_t> of_token(V), of_place(128 * V);
    for (std::size_t k = 0; k < set.tokens.size(); ++k) {
      ++of_token.at(static_cast<std::size_t>(set.tokens[k]));
      ++of_place[k % 128 * V + static_cast<std::size_t>(set.tokens[k])];
    }
    const auto expect_shares = [&](const std::vector<std::int64_t>& counts, double total) {
      for (const std::int64_t n : counts)  // 12,800 counts: one beyond five errors in 130 such tests
        EXPECT_NEAR(static_cast<double>(n), total * share, 5 * std::sqrt(total * share * (1 - share)))
            << name;
    };
    expect_shares(of_token, 128. * count);
    expect_shares(of_place, count);
  }
}

/// Shares of the cases by number, MODELS' table digit by digit and the draw within four standard errors.
TEST(Tasks, CaseBiasGivesTheSharesOfTheCases) {
  const auto expect = [](std::int64_t bias, std::int64_t length, std::array<double, 3> table,
                         double half_digit) {
    const double N = static_cast<double>(length), absent = std::pow(.99, N),
                 first = 1 - std::pow(98. / 99, N);
    const double argmin = bias < 0 ? (1 - absent) * std::pow(2, bias) : 1 - absent * std::pow(2, -bias);
    const std::array exact{argmin, (1 - argmin) * first, (1 - argmin) * (1 - first)};
    const Config c = config("argmin_first_argmax", {{"task.case_bias", std::to_string(bias)}});
    constexpr std::int64_t count = 100'000;
    std::array<double, 3> drawn{};
    Sequences set{2'000, length, {}, {}, {}};
    for (std::uint64_t step = 0; step < count / 2'000; ++step) {
      sequences(c, Purpose::training, step, set);
      for (const Sequence& s : rows(set)) {
        const auto holds = [&s](std::int32_t token) { return std::ranges::count(s, token) > 0; };
        drawn[holds(64) ? 0 : holds(50) ? 1 : 2] += 1. / count;
      }
    }
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(exact[k], table[k], half_digit) << bias << ' ' << k;
      EXPECT_NEAR(drawn[k], exact[k], 4 * std::sqrt(exact[k] * (1 - exact[k]) / count)) << bias << ' ' << k;
    }
  };
  expect(-3, 128, {.0905, .6615, .2480}, 5.1e-5);
  expect(-2, 128, {.1809, .5957, .2233}, 5.1e-5);
  expect(-1, 128, {.3619, .4641, .1740}, 5.1e-5);
  expect(0, 128, {.7237, .2009, .0753}, 5.1e-5);
  expect(1, 128, {.8619, .1005, .0377}, 5.1e-5);
  expect(2, 128, {.9309, .0502, .0188}, 5.1e-5);
  expect(3, 128, {.9655, .0251, .0094}, 5.1e-5);
  expect(4, 128, {.9827, .0126, .0047}, 5.1e-5);
  expect(0, 4, {.039, .038, .922}, 5.1e-4);
}

TEST(Tasks, CaseBiasIsForTrainingAlone) {
  for (const std::string name : {"argmin_first_argmax", "local_global"})
    for (const Purpose purpose : {Purpose::validation, Purpose::test})
      EXPECT_EQ(sequences(config(name, {{"task.case_bias", "8"}}), purpose, 128, 50, 128).tokens,
                sequences(config(name), purpose, 128, 50, 128).tokens);
}

/// Two samples from one distribution: chi-square over the sequences, of `kinds` - 1 degrees of freedom at
/// most.
void expect_alike(const std::map<Sequence, double>& one, const std::map<Sequence, double>& other) {
  std::map<Sequence, std::pair<double, double>> both;
  double n = 0, m = 0, chi_square = 0;
  for (const auto& [s, count] : one) both[s].first = count, n += count;
  for (const auto& [s, count] : other) both[s].second = count, m += count;
  for (const auto& [s, counts] : both)
    chi_square += std::pow(counts.first * std::sqrt(m / n) - counts.second * std::sqrt(n / m), 2) /
                  (counts.first + counts.second);
  const double degrees = static_cast<double>(both.size()) - 1;
  EXPECT_LT(chi_square, degrees + 5 * std::sqrt(2 * degrees));
}

TEST(Tasks, BiasedDrawsAreDistributedAsThePasses) {
  for (const std::string name : {"argmin_first_argmax", "local_global"})
    for (const int bias : {-8, -2, -1, 1, 2, 8}) {
      const Config c = tiny(name, 4, 3, {{"task.case_bias", std::to_string(bias)}});
      plain::Random random{std::mt19937_64(static_cast<std::uint64_t>(10 + bias))};
      std::map<Sequence, double> drawn, plainly;
      for (const Sequence& s : rows(sequences(c, Purpose::training, 0, 100'000, 3))) ++drawn[s];
      for (int k = 0; k < 100'000; ++k) ++plainly[random.biased(c, 3)];
      SCOPED_TRACE(name + ' ' + std::to_string(bias));
      expect_alike(drawn, plainly);
    }
}

/// The counters of a set by name, and by bits those of each sequence, against the plain ones.
void expect_counters(const Config& c, const Sequences& set) {
  const std::vector<std::string>& counters = task(c.task.name).cases;
  const std::vector<Sequence> drawn = rows(set);
  ASSERT_EQ(set.cases.size(), drawn.size());
  for (std::size_t b = 0; b < drawn.size(); ++b) {
    std::set<std::string> counted;
    for (std::size_t k = 0; k < 32; ++k)
      if ((set.cases[b] >> k & 1) != 0) counted.insert(counters.at(k));
    ASSERT_EQ(counted, plain::counters(c, drawn[b])) << b;
    const std::size_t answers = set.labels.size() / drawn.size();
    ASSERT_EQ(row(set.labels, b, answers), plain::label(c, drawn[b])) << b;
  }
}
std::int64_t total(const Sequences& set, std::size_t counter) {
  return std::ranges::count_if(set.cases, [=](std::uint32_t bits) { return (bits >> counter & 1) != 0; });
}

TEST(Balanced, CasesAreEquallyMany) {
  for (const std::int64_t length : {128, 64, 4, 2, 1})
    for (const std::uint64_t seed : {0, 1}) {
      const Pairs pairs{{"seed", std::to_string(seed)}};
      const Config three = config("argmin_first_argmax", pairs), two = config("local_global", pairs);
      const Sequences of_three = task(three.task.name).balanced(three, length);
      const Sequences of_two = task(two.task.name).balanced(two, length);
      expect_counters(three, of_three);
      expect_counters(two, of_two);
      for (const std::size_t k : {0, 2, 5}) EXPECT_EQ(total(of_three, k), 1000) << k;
      for (const std::size_t k : {0, 1}) EXPECT_EQ(total(of_two, k), 1500) << k;
    }
}

/// The smallest vocabularies and lengths that the keys allow.
TEST(Balanced, EndsWhereHardlyAnyTokenIsLeft) {
  for (const std::int64_t length : {1, 2, 3, 64})
    for (std::int64_t vocabulary = 2; vocabulary <= 4; ++vocabulary)
      for (std::int64_t a = 0; a < vocabulary; ++a)
        for (std::int64_t f = 0; f < vocabulary; ++f)
          for (const std::string name : {"argmin_first_argmax", "local_global"}) {
            if (name == "argmin_first_argmax" && (vocabulary == 2 || a == f)) continue;
            const Config c = config(name, {{"task.vocabulary", std::to_string(vocabulary)},
                                           {"task.argmin_token", std::to_string(a)},
                                           {"task.first_token", std::to_string(f)},
                                           {"eval.case_sequences", "60"}});
            const Sequences set = task(c.task.name).balanced(c, length);
            expect_counters(c, set);
            EXPECT_EQ(total(set, 0), name == "local_global" ? 30 : 20);
          }
}

/// 1,000 sets of 60, by both implementations; of each set also its last twenty, when quotas are closed.
TEST(Balanced, IsDistributedAsTheFiveLines) {
  for (const std::string name : {"argmin_first_argmax", "local_global"})
    for (const std::int64_t vocabulary : {4, 12}) {
      const std::size_t length = vocabulary == 4 ? 3 : 2;
      plain::Random random{std::mt19937_64(static_cast<std::uint64_t>(vocabulary))};
      std::map<Sequence, double> drawn, plainly, drawn_last, plainly_last;
      for (int seed = 0; seed < 1000; ++seed) {
        const Config c = tiny(name, vocabulary, static_cast<std::int64_t>(length),
                              {{"eval.case_sequences", "60"}, {"seed", std::to_string(seed)}});
        const std::vector<Sequence> ours =
            rows(task(c.task.name).balanced(c, static_cast<std::int64_t>(length)));
        const std::vector<Sequence> theirs =
            name == "local_global" ? random.balanced_two(c, length) : random.balanced_three(c, length);
        ASSERT_EQ(ours.size(), 60);
        ASSERT_EQ(theirs.size(), 60);
        for (std::size_t b = 0; b < 60; ++b) {
          ++drawn[ours[b]], ++plainly[theirs[b]];
          if (b >= 40) ++drawn_last[ours[b]], ++plainly_last[theirs[b]];
        }
      }
      SCOPED_TRACE(name + ' ' + std::to_string(vocabulary));
      expect_alike(drawn, plainly);
      expect_alike(drawn_last, plainly_last);
    }
}

/// The counters of the paper's balanced set, against the plain implementation, within four standard errors.
TEST(Balanced, CountersAtThePapersSize) {
  plain::Random random{std::mt19937_64(3)};
  std::map<std::string, double> plainly, drawn;
  for (int seed = 0; seed < 10; ++seed) {
    const Config c = config("argmin_first_argmax", {{"seed", std::to_string(seed)}});
    const Sequences set = task(c.task.name).balanced(c, 64);
    for (std::size_t k = 0; k < task(c.task.name).cases.size(); ++k)
      drawn[task(c.task.name).cases[k]] += static_cast<double>(total(set, k));
    for (const Sequence& s : random.balanced_three(c, 64))
      for (const std::string& counter : plain::counters(c, s)) ++plainly[counter];
  }
  for (const std::string& counter : task(TaskName::argmin_first_argmax).cases) {
    EXPECT_GT(drawn[counter], 50) << counter;
    EXPECT_NEAR(drawn[counter], plainly[counter], 4 * std::sqrt(drawn[counter] + plainly[counter]))
        << counter;
  }
}

/// How often answers that do not see the sequence are right in 10^5 sequences: the best one, and no other is
/// better.
TEST(Chance, AgreesWithSimulation) {
  for (const std::string& name : names)
    for (const std::int64_t length : {128, 64, 7}) {
      const Config c = config(name);
      constexpr std::int64_t count = 100'000;
      std::vector<std::vector<double>> right;  // (place, answer)
      Sequences set{1000, length, {}, {}, {}};
      for (std::uint64_t step = 0; step < count / 1000; ++step) {
        sequences(c, Purpose::test, step, set);
        const std::size_t places = set.labels.size() / static_cast<std::size_t>(set.count);
        right.resize(places, std::vector<double>(128));
        for (std::size_t k = 0; k < set.labels.size(); ++k)
          right[k % places][static_cast<std::size_t>(set.labels[k])] +=
              1. / static_cast<double>(count * right.size());
      }
      double best = 0;
      for (std::size_t place = 0; place < right.size(); ++place) {
        best += right[place][place];
        EXPECT_LE(std::ranges::max(right[place]),
                  right[place][place] + .005 / static_cast<double>(right.size()));
      }
      const double chance = task(c.task.name).chance(c, length);
      EXPECT_NEAR(best, chance, 4 * std::sqrt(chance * (1 - chance) / count)) << name << ' ' << length;
    }
}

/// P(mode = 0) with all terms: N! / V^N sum_c 1/c! [x^(N-c)] (sum_{k<=c} x^k/k!)^(V-1), a factor at a time.
double mode_chance(std::int64_t vocabulary, std::size_t N) {
  const double rate = static_cast<double>(N) / static_cast<double>(vocabulary);
  const auto poisson = [](double mean, std::size_t k) {
    return std::exp(static_cast<double>(k) * std::log(mean) - mean - std::lgamma(static_cast<double>(k) + 1));
  };
  double sum = 0;
  for (std::size_t c = 0; c <= N; ++c) {
    std::vector<double> product(N - c + 1);
    product[0] = 1;
    for (std::int64_t token = 1; token < vocabulary; ++token)
      for (std::size_t degree = product.size(); degree-- > 0;) {
        double coefficient = 0;
        for (std::size_t k = 0; k <= std::min(c, degree); ++k)
          coefficient += product[degree - k] * poisson(rate, k);
        product[degree] = coefficient;
      }
    sum += poisson(rate, c) * product[N - c];
  }
  return sum / poisson(static_cast<double>(N), N);
}

TEST(Chance, OfModeIsExact) {
  for (const auto& [vocabulary, length] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {2, 2}, {2, 128}, {3, 100}, {10, 64}, {100, 20}, {256, 12}}) {
    const Config c = config("mode", {{"task.vocabulary", std::to_string(vocabulary)}});
    const double want = mode_chance(vocabulary, static_cast<std::size_t>(length));
    EXPECT_NEAR(task(TaskName::mode).chance(c, length), want, 1e-12 * want) << vocabulary << ' ' << length;
  }
  EXPECT_NEAR(task(TaskName::mode).chance(config("mode", {{"task.vocabulary", "2"}}), 2), .75, 1e-15);
}

/// With an odd number of two kinds of tokens there are no ties; an even one adds half of theirs.
TEST(Chance, OfModeForLongSequences) {
  const Config c = config("mode", {{"task.vocabulary", "2"}});
  EXPECT_NEAR(task(TaskName::mode).chance(c, 511), .5, 1e-12);
  const double ties = std::exp(std::lgamma(513) - 2 * std::lgamma(257) - 512 * std::log(2));
  EXPECT_NEAR(task(TaskName::mode).chance(c, 512), .5 + ties / 2, 1e-12);
}

TEST(Sequences, EachDependsOnItsNumberAlone) {
  for (const std::string& name : names) {
    const Config c = config(name, {{"task.case_bias", "-1"}});
    const Sequences many = sequences(c, Purpose::training, 3, 50, 128);
    for (const std::int64_t count : {1, 7, 50}) {
      const Sequences few = sequences(c, Purpose::training, 3, count, 128);
      EXPECT_TRUE(std::ranges::equal(few.tokens, std::span(many.tokens).first(few.tokens.size())));
      EXPECT_TRUE(std::ranges::equal(few.labels, std::span(many.labels).first(few.labels.size())));
    }
    EXPECT_EQ(std::set<Sequence>([&] {
                const auto all = rows(many);
                return std::set(all.begin(), all.end());
              }())
                  .size(),
              50);
  }
}

TEST(Sequences, DifferBySeedPurposeAndStepOnly) {
  for (const std::string& name : names) {
    const auto drawn = [&](const Pairs& pairs, Purpose purpose, std::uint64_t step) {
      return sequences(config(name, pairs), purpose, step, 4, 128).tokens;
    };
    const std::set<Sequence> all{drawn({}, Purpose::training, 0), drawn({}, Purpose::training, 1),
                                 drawn({{"seed", "1"}}, Purpose::training, 0),
                                 drawn({}, Purpose::validation, 0), drawn({}, Purpose::test, 0)};
    EXPECT_EQ(all.size(), 5) << name;
    EXPECT_EQ(
        drawn({{"model.architecture", "bert"}, {"model.dim", "8"}, {"train.l2", "1"}}, Purpose::training, 0),
        drawn({}, Purpose::training, 0));
  }
}

TEST(Sequences, MemoryIsUsedAgain) {
  const Config c = config("local_global");
  Sequences set{32, 128, {}, {}, {1, 2, 3}};
  sequences(c, Purpose::training, 0, set);
  const auto* tokens = set.tokens.data();
  const auto* labels = set.labels.data();
  sequences(c, Purpose::training, 1, set);
  EXPECT_EQ(set.tokens.data(), tokens);
  EXPECT_EQ(set.labels.data(), labels);
  EXPECT_EQ(set.tokens, sequences(c, Purpose::training, 1, 32, 128).tokens);
  EXPECT_TRUE(set.cases.empty());
}

/// FNV-1a over all numbers of a set.
std::uint64_t hash(const Sequences& set) {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&](const auto& numbers) {
    for (const auto number : numbers) h = (h ^ static_cast<std::uint32_t>(number)) * 0x100000001b3;
  };
  add(set.tokens), add(set.labels), add(set.cases);
  return h;
}

/// Data never change silently: where one of these must, result_scheme is raised.
TEST(Sequences, KeptHashes) {
  const auto training = [](const std::string& name, const std::string& bias) {
    return hash(
        sequences(config(name, {{"task.case_bias", bias}, {"seed", "3"}}), Purpose::training, 1000, 32, 128));
  };
  const auto balanced = [](const std::string& name) {
    const Config c = config(name);
    return hash(task(c.task.name).balanced(c, 64));
  };
  EXPECT_EQ(training("argmin_first_argmax", "0"), 0x7d7c2bcefc5c9bef);
  EXPECT_EQ(training("argmin_first_argmax", "2"), 0x34dfdc3a88d54a7c);
  EXPECT_EQ(training("argmin_first_argmax", "-2"), 0x9807c488a797a331);
  EXPECT_EQ(training("mode", "0"), 0x27b6444fe4e7e7ba);
  EXPECT_EQ(training("local_global", "1"), 0x3076cebeeacdeb);
  EXPECT_EQ(balanced("argmin_first_argmax"), 0x97e006a50d439c0c);
  EXPECT_EQ(balanced("local_global"), 0x94d9ba475c9a831d);
  EXPECT_EQ(hash(sequences(config("mode"), Purpose::test, 256, 10, 256)), 0x35b8ee6f80e57085);
}

std::string fault(const std::string& name, const Pairs& pairs) try {
  config(name, pairs);
  return "none";
} catch (const ConfigError& e) {
  return e.what();
}

TEST(Tasks, KeysRefuseSetsThatCannotBe) {
  EXPECT_EQ(
      fault("argmin_first_argmax", {{"eval.case_sequences", "1000"}}),
      "eval.case_sequences: 1000 is not a multiple of the cases (3) of task.name = argmin_first_argmax");
  EXPECT_EQ(fault("local_global", {{"eval.case_sequences", "3"}}),
            "eval.case_sequences: 3 is not a multiple of the cases (2) of task.name = local_global");
  EXPECT_EQ(fault("mode", {{"eval.case_sequences", "1"}}), "none");
  EXPECT_EQ(
      fault("argmin_first_argmax",
            {{"task.vocabulary", "2"}, {"task.argmin_token", "0"}, {"task.first_token", "1"}}),
      "eval.case_sequences: 3000 is not possible, as every token announces a case, with task.vocabulary = 2");
  EXPECT_EQ(fault("local_global", {{"task.vocabulary", "2"}, {"task.argmin_token", "1"}}), "none");
  EXPECT_EQ(fault("local_global", {{"task.length", "1"}, {"eval.relative_lengths", "1"}}),
            "eval.case_sequences: 3000 is not possible at half of task.length = 1");
  EXPECT_EQ(fault("local_global",
                  {{"task.length", "1"}, {"eval.relative_lengths", "1"}, {"eval.case_sequences", "0"}}),
            "none");
}

}  // namespace
}  // namespace headlab::test
