#include "core/tasks/announced.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "tests/support/plain_tasks.hpp"

namespace headlab::test {
namespace {

/// Shares of the cases argmin, first and argmax as derived from N and the passes of case_bias, V = 100.
std::array<double, 3> exact_shares(std::int64_t bias, std::int64_t length) {
  const double N = static_cast<double>(length), absent = std::pow(.99, N), first = 1 - std::pow(98. / 99, N);
  const double argmin = bias < 0 ? (1 - absent) * std::pow(2, bias) : 1 - absent * std::pow(2, -bias);
  return {argmin, (1 - argmin) * first, (1 - argmin) * (1 - first)};
}
/// The shares among sequences for training; of any task whose sequences are announced.
std::array<double, 3> drawn_shares(const Config& c, std::int64_t length, std::int64_t count) {
  std::array<double, 3> shares{};
  Sequences set{2'000, length, {}, {}, {}};
  for (std::int64_t step = 0; step < count / set.count; ++step) {
    sequences(c, Purpose::training, static_cast<std::uint64_t>(step), set);
    for (std::size_t b = 0; std::cmp_less(b, set.count); ++b) {
      const auto tokens =
          std::span(set.tokens)
              .subspan(b * static_cast<std::size_t>(length), static_cast<std::size_t>(length));
      const auto has = [&](std::int32_t token) { return std::ranges::find(tokens, token) != tokens.end(); };
      shares[has(64) ? 0 : has(50) ? 1 : 2] += 1 / static_cast<double>(count);
    }
  }
  return shares;
}
/// Within four standard errors.
void expect_share(double drawn, double exact, std::int64_t count) {
  EXPECT_NEAR(drawn, exact, 4 * std::sqrt(exact * (1 - exact) / static_cast<double>(count)));
}
void expect_drawn_shares(const std::string& name, std::int64_t bias, std::int64_t length,
                         std::int64_t count) {
  SCOPED_TRACE(name + ' ' + std::to_string(bias));
  const auto exact = exact_shares(bias, length);
  const auto drawn = drawn_shares(config(name, {{"task.case_bias", std::to_string(bias)}}), length, count);
  for (std::size_t k = 0; k < 3; ++k) expect_share(drawn[k], exact[k], count);
}

/// Shares of argmin, first and argmax at N = 128.
const std::map<std::int64_t, std::array<double, 3>> tabulated{
    {-3, {.0905, .6615, .2480}}, {-2, {.1809, .5957, .2233}}, {-1, {.3619, .4641, .1740}},
    {0, {.7237, .2009, .0753}},  {1, {.8619, .1005, .0377}},  {2, {.9309, .0502, .0188}},
    {3, {.9655, .0251, .0094}},  {4, {.9827, .0126, .0047}}};

TEST(CaseBias, GivesTheSharesOfTheCases) {
  for (const auto& [bias, table] : tabulated) {
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(exact_shares(bias, 128)[k], table[k], 5.1e-5) << bias;
    expect_drawn_shares("argmin_first_argmax", bias, 128, 100'000);
  }
  const std::array of_four{.039, .038, .922};
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(exact_shares(0, 4)[k], of_four[k], 5.1e-4);
  expect_drawn_shares("argmin_first_argmax", 0, 4, 100'000);
}

TEST(CaseBiasSlow, GivesTheSharesAmongAMillionSequences) {
  for (const std::string name : {"argmin_first_argmax", "local_global"})
    for (const auto& [bias, table] : tabulated) expect_drawn_shares(name, bias, 128, 1'000'000);
}

TEST(CaseBias, IsForTrainingAlone) {
  for (const std::string name : {"argmin_first_argmax", "local_global"}) {
    const Config biased = config(name, {{"task.case_bias", "8"}}), unbiased = config(name);
    const auto balanced = task(biased.task.name).balanced;
    EXPECT_EQ(balanced(biased, 128).tokens, balanced(unbiased, 128).tokens);
    for (const Purpose purpose : {Purpose::validation, Purpose::test})
      EXPECT_EQ(sequences(biased, purpose, 128, 50, 128).tokens,
                sequences(unbiased, purpose, 128, 50, 128).tokens);
  }
}

/// Two samples of one distribution: chi-square, at most five standard deviations above its mean.
template <class Thing>
void expect_alike(const std::map<Thing, double>& one, const std::map<Thing, double>& other) {
  std::map<Thing, std::pair<double, double>> both;
  double n = 0, m = 0, chi_square = 0;
  for (const auto& [s, count] : one) both[s].first = count, n += count;
  for (const auto& [s, count] : other) both[s].second = count, m += count;
  for (const auto& [s, counts] : both)
    chi_square += std::pow(counts.first * std::sqrt(m / n) - counts.second * std::sqrt(n / m), 2) /
                  (counts.first + counts.second);
  const double degrees = static_cast<double>(both.size()) - 1;
  EXPECT_LE(chi_square, degrees + 5 * std::sqrt(2 * degrees));
}

TEST(CaseBias, DrawsAreDistributedAsThePasses) {
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

/// Of the sequences of each case: how often each token is in them, where the announcing tokens stand, and how
/// many of each a sequence has.
class Profile {
 public:
  using Count =
      std::pair<std::string, std::int64_t>;  ///< what of which case, of which token, place or number

  void add(const Config& c, const Sequence& s) {
    const std::set<std::string> counters = plain::counters(c, s);
    const auto is_case = [](const std::string& name) { return !name.ends_with("_at_0"); };
    const std::string kind = *std::ranges::find_if(counters, is_case);
    for (const std::int32_t token : s) ++counts_[{kind + " tokens", token}];
    for (const std::int64_t token : {c.task.argmin_token, c.task.first_token}) {
      const std::string announced = kind + ' ' + std::to_string(token);
      for (std::size_t i = 0; i < s.size(); ++i)
        if (s[i] == token) ++counts_[{announced + " places", static_cast<std::int64_t>(i)}];
      ++counts_[{announced + " numbers", std::ranges::count(s, token)}];
    }
  }
  /// Histograms by what they are of.
  std::map<std::string, std::map<std::int64_t, double>> histograms() const {
    std::map<std::string, std::map<std::int64_t, double>> all;
    for (const auto& [count, n] : counts_) all[count.first][count.second] = n;
    return all;
  }

 private:
  std::map<Count, double> counts_;
};

/// 10 sets of 3,000, by both implementations.
TEST(Balanced, TokensOfEachCaseAtThePapersSize) {
  for (const std::string name : {"argmin_first_argmax", "local_global"})
    for (const std::size_t length : {128U, 64U, 4U}) {
      plain::Random random{std::mt19937_64(length)};
      Profile drawn, plainly;
      for (int seed = 0; seed < 10; ++seed) {
        const Config c = config(name, {{"seed", std::to_string(seed)}});
        for (const Sequence& s : rows(task(c.task.name).balanced(c, static_cast<std::int64_t>(length))))
          drawn.add(c, s);
        for (const Sequence& s :
             name == "local_global" ? random.balanced_two(c, length) : random.balanced_three(c, length))
          plainly.add(c, s);
      }
      const auto ours = drawn.histograms(), theirs = plainly.histograms();
      EXPECT_EQ(ours.size(), theirs.size());
      for (const auto& [what, histogram] : ours) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, length, what));
        expect_alike(histogram, theirs.at(what));
      }
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

}  // namespace
}  // namespace headlab::test
