#include "core/tasks/announced.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/support/plain_tasks.hpp"

namespace headlab::test {
namespace {

/// Shares of the three cases: as tabulated, and those drawn within four standard errors.
TEST(CaseBias, GivesTheSharesOfTheCases) {
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
