#include <gtest/gtest.h>

#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <complex>
#include <numbers>

#include "tests/support/plain_tasks.hpp"

namespace headlab::test {
namespace {

/// The sequence with each argmin_token replaced, in all ways.
std::vector<Sequence> replacements(const Config& c, const Sequence& s) {
  const auto token = static_cast<std::int32_t>(c.task.argmin_token);
  std::vector<Sequence> all{s};
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != token) continue;
    std::vector<Sequence> next;
    for (Sequence one : all)
      for (one[i] = 0; one[i] < c.task.vocabulary; ++one[i])
        if (one[i] != token) next.push_back(one);
    all = std::move(next);
  }
  return all;
}

/// The sequence with one argmin_token written over each of its places.
std::vector<Sequence> placements(const Config& c, const Sequence& s) {
  std::vector<Sequence> all(s.size(), s);
  for (std::size_t i = 0; i < s.size(); ++i) all[i][i] = static_cast<std::int32_t>(c.task.argmin_token);
  return all;
}

/// How often training gives each sequence, in as many as there are: from every way that passes can go.
std::map<Sequence, double> training_distribution(const Config& c, std::int64_t length) {
  std::map<Sequence, double> all;
  for (const Sequence& s : all_sequences(c.task.vocabulary, length)) all[s] = 1;
  for (std::int64_t pass = 0; pass < std::abs(c.task.case_bias); ++pass) {
    std::map<Sequence, double> next;
    for (const auto& [s, p] : all) {
      const bool holds = plain::has(s, c.task.argmin_token), asked = holds == (c.task.case_bias < 0);
      const std::vector<Sequence> changed = !asked  ? std::vector<Sequence>{s}
                                            : holds ? replacements(c, s)
                                                    : placements(c, s);
      next[s] += p / 2;
      for (const Sequence& one : changed) next[one] += p / 2 / static_cast<double>(changed.size());
    }
    all = std::move(next);
  }
  return all;
}

/// Of each answer fixed beforehand, how often it is right over all sequences; the best for each place.
double best_constant(const Config& c, std::int64_t length) {
  std::vector<std::map<std::int32_t, double>> right;
  for (const auto& [s, p] : training_distribution(c, length)) {
    const Sequence labels = plain::label(c, s);
    right.resize(labels.size());
    for (std::size_t place = 0; place < labels.size(); ++place) right[place][labels[place]] += p;
  }
  double sum = 0;
  for (const auto& answers : right)
    sum += std::ranges::max_element(answers, {}, [](const auto& a) { return a.second; })->second;
  const double sequences = std::pow(static_cast<double>(c.task.vocabulary), static_cast<double>(length));
  return sum / static_cast<double>(right.size()) / sequences;
}

TEST(Chance, IsTheBestConstantAnswersOverAllSequences) {
  for (const std::string& name : names)
    for (std::int64_t vocabulary = 2; vocabulary <= 5; ++vocabulary)
      for (std::int64_t length = 1; length <= 6; ++length) {
        const Config c = tiny(name, vocabulary, length);
        for (const bool biased : {false, true})
          EXPECT_NEAR(task(c.task.name).chance(c, biased, length), best_constant(c, length), 1e-14)
              << name << ' ' << vocabulary << ' ' << length;
      }
}

TEST(Chance, OfTrainingIsTheBestConstantAnswersOverWhatCaseBiasMakesOfAllSequences) {
  for (const char* name : {"argmin_first_argmax", "local_global"})
    for (const char* bias : {"-8", "-2", "-1", "1", "3"})
      for (std::int64_t vocabulary = 2; vocabulary <= 4; ++vocabulary)
        for (std::int64_t length = 1; length <= 5; ++length)
          for (std::int64_t announces = 0; announces < vocabulary; ++announces) {
            Config c = tiny(name, vocabulary, length, {{"task.case_bias", bias}});
            c.task.argmin_token = announces;
            c.task.first_token = (announces + 1) % vocabulary;
            const auto& chance = task(c.task.name).chance;
            EXPECT_NEAR(chance(c, true, length), best_constant(c, length), 1e-14)
                << name << ' ' << bias << ' ' << vocabulary << ' ' << length << ' ' << announces;
            Config unbiased = c;
            unbiased.task.case_bias = 0;
            EXPECT_EQ(chance(c, false, length), chance(unbiased, true, length));
          }
}

/// How often answers that do not see the sequence are right in 10^5 sequences: the best one, and no other is
/// better.
void expect_chance_as_simulated(const Config& c, Purpose purpose, std::int64_t length) {
  constexpr std::int64_t count = 100'000;
  std::vector<std::vector<double>> right;  // (place, answer)
  Sequences set{1000, length, {}, {}, {}};
  for (std::uint64_t step = 0; step < count / 1000; ++step) {
    sequences(c, purpose, step, set);
    const std::size_t places = set.labels.size() / static_cast<std::size_t>(set.count);
    right.resize(places, std::vector<double>(128));
    for (std::size_t k = 0; k < set.labels.size(); ++k)
      right[k % places][static_cast<std::size_t>(set.labels[k])] +=
          1. / static_cast<double>(count * right.size());
  }
  double best = 0;
  for (std::size_t place = 0; place < right.size(); ++place) {
    best += right[place][place];
    EXPECT_LE(std::ranges::max(right[place]), right[place][place] + .005 / static_cast<double>(right.size()));
  }
  const double chance = task(c.task.name).chance(c, purpose == Purpose::training, length);
  EXPECT_NEAR(best, chance, 4 * std::sqrt(chance * (1 - chance) / count))
      << text(value(c.task.name)) << ' ' << length << ' ' << c.task.case_bias;
}

TEST(Chance, AgreesWithSimulation) {
  for (const std::string& name : names)
    for (const std::int64_t length : {128, 64, 7})
      expect_chance_as_simulated(config(name), Purpose::test, length);
}

TEST(Chance, OfTrainingAgreesWithSimulation) {
  for (const char* bias : {"-3", "-1", "1", "4"}) {
    const std::pair<std::string, std::string> biased{"task.case_bias", bias};
    for (const char* readout : {"across_tokens", "first_token"})
      expect_chance_as_simulated(config("argmin_first_argmax", {biased, {"task.readout", readout}}),
                                 Purpose::training, 128);
    expect_chance_as_simulated(config("local_global", {biased}), Purpose::training, 128);
  }
}

/// Shares of the cases (argmin, first, argmax) at V = 100, N = 128; always answering 0 is right in the first
/// case and in about one of 70 others.
TEST(Chance, OfTrainingFollowsTheFirstCasesShare) {
  for (const auto& [bias, first] : std::map<std::string, double>{
           {"-3", .6615}, {"-2", .5957}, {"-1", .4641}, {"0", .2009}, {"1", .1005}, {"4", .0126}}) {
    const double chance = task(TaskName::argmin_first_argmax)
                              .chance(config("argmin_first_argmax", {{"task.case_bias", bias}}), true, 128);
    EXPECT_GT(chance, first + (1 - first) / 128 - 5e-5) << bias;
    EXPECT_LT(chance, first + (1 - first) / 50) << bias;
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
    EXPECT_NEAR(task(TaskName::mode).chance(c, false, length), want, 1e-12 * want)
        << vocabulary << ' ' << length;
  }
  EXPECT_NEAR(task(TaskName::mode).chance(config("mode", {{"task.vocabulary", "2"}}), false, 2), .75, 1e-15);
}

/// The same by Cauchy's formula with as many roots of unity as the polynomials have coefficients, and all k
/// but those that come after the likely ones.
double mode_chance_by_all_roots(std::int64_t vocabulary, std::size_t N) {
  const double rate = static_cast<double>(N) / static_cast<double>(vocabulary);
  const std::size_t L = 2 * N + 100;
  std::vector<std::complex<double>> roots(L), truncated(L);
  for (std::size_t l = 0; l < L; ++l)
    roots[l] = std::polar(1., 2 * std::numbers::pi * static_cast<double>(l) / static_cast<double>(L));
  double joint = 0;
  for (std::size_t c = 0; c <= N; ++c) {
    const double share = boost::math::pdf(boost::math::poisson(rate), static_cast<double>(c));
    if (static_cast<double>(c) > rate && share < 1e-40) break;
    for (std::size_t l = 0; l < L; ++l) truncated[l] += share * roots[l * c % L];
    if (static_cast<double>(c) < rate) continue;
    std::complex<double> coefficient = 0;
    for (std::size_t l = 0; l < L; ++l)
      coefficient += std::pow(truncated[l], static_cast<int>(vocabulary - 1)) * roots[l * (L - N + c) % L];
    joint += share * coefficient.real() / static_cast<double>(L);
  }
  return joint / boost::math::pdf(boost::math::poisson(static_cast<double>(N)), static_cast<double>(N));
}

TEST(Chance, OfModeLosesNothingWithFewerRootsOfUnity) {
  for (const auto& [vocabulary, length] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {2, 1}, {2, 3000}, {3, 2999}, {10, 5000}, {10, 777}, {1000, 128}, {100, 3000}, {50, 50}}) {
    const Config c = config("mode", {{"task.vocabulary", std::to_string(vocabulary)}});
    const double want = mode_chance_by_all_roots(vocabulary, static_cast<std::size_t>(length));
    EXPECT_NEAR(task(TaskName::mode).chance(c, false, length), want, 1e-11 * want)
        << vocabulary << ' ' << length;
  }
}

/// With an odd number of two kinds of tokens there are no ties; an even one adds half of theirs.
TEST(Chance, OfModeForLongSequences) {
  const Config c = config("mode", {{"task.vocabulary", "2"}});
  EXPECT_NEAR(task(TaskName::mode).chance(c, false, 511), .5, 1e-12);
  const double ties = std::exp(std::lgamma(513) - 2 * std::lgamma(257) - 512 * std::log(2));
  EXPECT_NEAR(task(TaskName::mode).chance(c, false, 512), .5 + ties / 2, 1e-12);
  constexpr double half = 200'000;  // its square, operations, would take half an hour
  const double far = std::exp(std::lgamma(2 * half + 1) - 2 * std::lgamma(half + 1) - 2 * half * std::log(2));
  EXPECT_NEAR(task(TaskName::mode).chance(c, false, 400'000), .5 + far / 2, 1e-11);
}

}  // namespace
}  // namespace headlab::test
