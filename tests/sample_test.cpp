// `headlab sample`: sequences as text and as JSON, against the tasks that draw them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/configuration.hpp"
#include "experiments/sequence_text.hpp"
#include "tests/support/child.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

constexpr std::size_t terminal = 80;

/// One sequence with its label.
Sequences labelled(const Config& config, std::vector<std::int32_t> tokens) {
  Sequences one{1, std::ssize(tokens), std::move(tokens), {}, {}};
  one.labels.resize(config.task.name == TaskName::local_global ? one.tokens.size() : 1);
  task(config.task.name).label(config, one.tokens, one.labels);
  return one;
}

std::string shown(const Pairs& pairs, std::vector<std::int32_t> tokens, std::size_t width = terminal) {
  const Config config = configuration(pairs);
  return sequence_text(all_keys(), config, labelled(config, std::move(tokens)), 0, width);
}

TEST(SequenceText, MarksWhatDecides) {
  EXPECT_EQ(shown({}, {9, 50, 3, 64, 3}),
            "sequence 0: argmin; answer: position 2\n"
            "  0    9  [50]  (3) [64]   3\n");
  EXPECT_EQ(shown({}, {50, 1, 50}),
            "sequence 0: first, first_maximum_at_0; answer: position 0\n  0  {50}   1  [50]\n");
  EXPECT_EQ(shown({}, {7, 8, 99}), "sequence 0: argmax; answer: position 2\n  0    7    8  (99)\n");
  EXPECT_EQ(shown({{"task.name", "mode"}}, {3, 1, 3, 0}),
            "sequence 0: answer: 3\ncounts: 3 x2, 0 x1, 1 x1\n  0  (3)  1  (3)  0\n");
  EXPECT_EQ(shown({{"task.name", "local_global"}}, {7, 64, 3}),
            "sequence 0: local; every token answers its own position\n  0    7  [64]   3\n");
  EXPECT_EQ(shown({{"task.name", "local_global"}}, {7, 50, 3, 3}),
            "sequence 0: global; every token answers position 2\n  0    7   50   (3)   3\n");
}

TEST(SequenceText, CountsTheRowsThatItLeavesOut) {
  std::vector<std::int32_t> tokens(400, 7);
  tokens[205] = tokens[255] = 64;
  tokens[301] = 3;
  const std::string text = shown({}, tokens);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), terminal);
  EXPECT_NE(text.find("\n  200 "), text.npos);
  EXPECT_NE(text.find("\n  300 "), text.npos);
  EXPECT_NE(text.find("\n  390 "), text.npos);
  for (const char* gap : {"\n  ...  190 tokens\n", "\n  ...  90 tokens\n", "\n  ...  80 tokens\n"})
    EXPECT_NE(text.find(gap), text.npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 4 + 3) << text;
  EXPECT_NE(text.find("[64]"), text.npos);
  EXPECT_NE(text.find("(3)"), text.npos);
}

TEST(SequenceText, KeepsAllInATerminalAtTheStandardLengthAndInARowElsewhere) {
  const std::vector<std::int32_t> tokens(128, 7);
  EXPECT_EQ(shown({}, tokens).find("..."), std::string::npos);
  const std::string row = shown({}, std::vector<std::int32_t>(1000, 7), 0);
  EXPECT_EQ(std::ranges::count(row, '\n'), 2);
  EXPECT_EQ(std::ranges::count(row, '7'), 1000);
}

struct Sample : testing::Test {
  TemporaryFolder folder;

  Ended run(const std::string& options) const { return shell("$HEADLAB sample " + options, folder.path); }
  nlohmann::json json(const std::string& options) const {
    const Ended ended = run(options + " --json");
    EXPECT_EQ(ended.code, 0) << ended.err;
    const auto all = nlohmann::json::parse(ended.out);
    EXPECT_EQ(all.at("version"), 1);
    return all.at("sample");
  }
};

struct Drawn {
  std::string options;
  Pairs pairs;
};
struct OfEachTask : Sample, testing::WithParamInterface<Drawn> {};

TEST_P(OfEachTask, IsWhatTrainingAndValidationSee) {
  const Config config = configuration(GetParam().pairs + Pairs{{"task.length", "20"}, {"seed", "3"}});
  const std::string options = GetParam().options + " --task.length 20 --seed 3 -n 5";
  for (const auto& [set, purpose, step] : {std::tuple("train", Purpose::training, std::uint64_t{0}),
                                           {"validation", Purpose::validation, 20},
                                           {"test", Purpose::test, 20}}) {
    const nlohmann::json sample = json(options + " --set " + set);
    const Sequences expected = sequences(config, purpose, step, 5, 20);
    ASSERT_EQ(sample.at("sequences").size(), 5U);
    std::vector<std::int32_t> tokens, labels;
    for (const auto& sequence : sample.at("sequences")) {
      for (const std::int32_t token : sequence.at("tokens")) tokens.push_back(token);
      for (const std::int32_t label : sequence.at("labels")) labels.push_back(label);
    }
    EXPECT_EQ(tokens, expected.tokens);
    EXPECT_EQ(labels, expected.labels);
    EXPECT_EQ(sample.at("chance_accuracy"),
              task(config.task.name).chance(config, std::string(set) == "train", 20));
  }
  const Ended text = run(options);
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("\nsequence 4: "), text.out.npos);
  EXPECT_EQ(text.out.find("\nsequence 5: "), text.out.npos);
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, OfEachTask,
    testing::Values(Drawn{"", {}}, Drawn{"--task.readout first_token", {{"task.readout", "first_token"}}},
                    Drawn{"--task.case_bias=-2", {{"task.case_bias", "-2"}}},
                    Drawn{"--task.name mode", {{"task.name", "mode"}}},
                    Drawn{"--task.name local_global --task.case_bias 3",
                          {{"task.name", "local_global"}, {"task.case_bias", "3"}}}));

TEST_F(Sample, OfABalancedSetHasEachCaseEquallyOften) {
  const nlohmann::json sample = json("--set balanced --eval.case_sequences 30 -n 100 --task.length 10");
  std::map<std::string, int> cases;
  for (const auto& sequence : sample.at("sequences"))
    for (const std::string name : sequence.at("cases")) ++cases[name];
  EXPECT_EQ(cases["argmin"], 10);
  EXPECT_EQ(cases["first"], 10);
  EXPECT_EQ(cases["argmax"], 10);
}

TEST_F(Sample, ThatCannotBeIsTold) {
  for (const auto& [options, error] :
       {std::pair(
            "--set balanced --task.name mode",
            "error: --set: balanced has no sequences with task.name = mode, eval.case_sequences = 3000\n"),
        {"-n 0 --set trian",
         "error: --count: 0 is not in [1, 10000]\n"
         "error: --set: trian is not one of train, validation, test, balanced\n"},
        {"-n 10000 --task.length 20000",
         "error: task.length: 10000 sequences of 20000 tokens are more than 1e+08 tokens\n"}}) {
    const Ended ended = run(options);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, error);
  }
}

}  // namespace
}  // namespace headlab::test
