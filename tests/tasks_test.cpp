#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.hpp"
#include "core/tasks/task.hpp"
#include "tests/support/plain_tasks.hpp"

namespace headlab::test {
namespace {

/// Every sequence of up to six tokens of up to five kinds.
TEST(Tasks, LabelsOfAllSequences) {
  for (const std::string& name : names)
    for (std::int64_t vocabulary = 2; vocabulary <= 5; ++vocabulary)
      for (std::int64_t length = 1; length <= 6; ++length) {
        const Config c = tiny(name, vocabulary, length);
        for (const Sequence& s : all_sequences(vocabulary, length))
          ASSERT_EQ(label(c, s), plain::label(c, s)) << name;
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

TEST(Sequences, EachDependsOnItsNumberAlone) {
  for (const std::string& name : names) {
    const Config c = config(name, {{"task.case_bias", "-1"}});
    const Sequences many = sequences(c, Purpose::training, 3, 50, 128);
    for (const std::int64_t count : {1, 7, 50}) {
      const Sequences few = sequences(c, Purpose::training, 3, count, 128);
      EXPECT_TRUE(std::ranges::equal(few.tokens, std::span(many.tokens).first(few.tokens.size())));
      EXPECT_TRUE(std::ranges::equal(few.labels, std::span(many.labels).first(few.labels.size())));
    }
    const std::vector<Sequence> all = rows(many);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 50);
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
