#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/plain_tasks.hpp"

namespace headlab::test {
namespace {

/// Of each answer fixed beforehand, how often it is right over all sequences; the best for each place.
double best_constant(const Config& c, std::int64_t length) {
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

TEST(Chance, IsTheBestConstantAnswersOverAllSequences) {
  for (const std::string& name : names)
    for (std::int64_t vocabulary = 2; vocabulary <= 5; ++vocabulary)
      for (std::int64_t length = 1; length <= 6; ++length) {
        const Config c = tiny(name, vocabulary, length);
        EXPECT_NEAR(task(c.task.name).chance(c, length), best_constant(c, length), 1e-14)
            << name << ' ' << vocabulary << ' ' << length;
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

}  // namespace
}  // namespace headlab::test
