#include "core/train/checkpoint.hpp"

#include <cstring>
#include <random>

#include "core/train/trainer.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

const Pairs small{{"model.dim", "8"},
                  {"model.heads", "2"},
                  {"task.length", "12"},
                  {"train.batch", "30"},
                  {"train.steps_per_epoch", "5"},
                  {"train.epochs", "3"},
                  {"eval.sequences", "30"},
                  {"eval.case_sequences", "30"},
                  {"eval.test_sequences", "30"},
                  {"train.learning_rate", "1e-2"}};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
void expect_same(const History& a, const History& b) {
  EXPECT_EQ(a.relative_length, b.relative_length);
  EXPECT_EQ(a.case_length, b.case_length);
  EXPECT_EQ(a.case_name, b.case_name);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.sequences_seen, b.sequences_seen);
  EXPECT_EQ(a.case_correct, b.case_correct);
  EXPECT_EQ(a.case_total, b.case_total);
  for (const auto table : {&History::train_loss, &History::train_accuracy, &History::learning_rate,
                           &History::gradient_norm, &History::validation_loss, &History::validation_accuracy,
                           &History::test_loss, &History::test_accuracy})
    EXPECT_TRUE(same_bits(a.*table, b.*table));
}
void expect_same(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    EXPECT_EQ(tensor.shape, b.at(name).shape) << name;
    EXPECT_TRUE(same_bits(tensor.elements, b.at(name).elements)) << name;
  }
}

/// Stops when it is asked for the stop_at-th time; keeps the last checkpoint, and the one after every step if
/// `always`.
struct Keeper : Sink {
  int asked = 0, stop_at = -1, given = 0;
  bool always = false, stopped = false;
  std::optional<Checkpoint> kept{};

  bool stop() override { return stopped = ++asked == stop_at; }
  bool wants_checkpoint() override { return always || stopped; }
  void checkpoint(Checkpoint&& now) override {
    ++given;
    kept = std::move(now);
  }
};
struct Ended {
  Outcome outcome;
  Checkpoint last;  ///< after the last step
  int asked{}, given{};
};
Ended undisturbed(const Config& config) {
  Keeper keeper;
  keeper.always = true;
  Outcome outcome = train(config, keeper);
  return {std::move(outcome), *std::move(keeper.kept), keeper.asked, keeper.given};
}
/// Stopped again and again, after 1 .. `longest` questions.
Ended in_pieces(const Config& config, unsigned seed, int longest, int& pieces) {
  std::mt19937 rng(seed);
  std::optional<Checkpoint> from;
  Checkpoint last;
  for (pieces = 1;; ++pieces) {
    Keeper keeper;
    keeper.stop_at = 1 + int(rng() % unsigned(longest));
    Outcome outcome = train(config, keeper, std::move(from));
    if (outcome.status != Status::interrupted) return {std::move(outcome), std::move(last), 0, 0};
    EXPECT_EQ(keeper.given, 1);
    from = std::move(keeper.kept);
    last = *from;
  }
}

struct Checkpoints : testing::TestWithParam<Pairs> {};

TEST_P(Checkpoints, GoOnToTheSameBits) {
  const Config config = configuration(small + GetParam());
  const Ended whole = undisturbed(config);
  ASSERT_EQ(whole.outcome.status, Status::done);
  EXPECT_EQ(whole.given, 15) << "steps";
  for (const unsigned seed : {0u, 1u, 2u}) {
    // 2 chunks a step, 2 or 1 an evaluation: at most 8 in a row without a step
    int pieces = 0;
    const Ended parts = in_pieces(config, seed, 12, pieces);
    EXPECT_GE(pieces, 4);
    EXPECT_EQ(parts.outcome.status, Status::done);
    expect_same(parts.outcome.history, whole.outcome.history);
    EXPECT_EQ(parts.outcome.parameters, whole.outcome.parameters);
  }
}

TEST_P(Checkpoints, HoldTheSameParametersAndMoments) {
  const Config config = configuration(small + GetParam());
  const Ended whole = undisturbed(config);
  ASSERT_EQ(whole.last.step, 15);
  Keeper first, second;
  first.stop_at = 8;  // in the middle of the fourth step
  train(config, first);
  ASSERT_EQ(first.kept->step, 3);
  second.always = true;
  train(config, second, std::move(first.kept));
  EXPECT_EQ(second.given, 12);
  EXPECT_EQ(second.kept->step, 15);
  expect_same(second.kept->value, whole.last.value);
  expect_same(second.kept->moment1, whole.last.moment1);
  expect_same(second.kept->moment2, whole.last.moment2);
  EXPECT_EQ(second.kept->unfinished, whole.last.unfinished);
  expect_same(second.kept->history, whole.last.history);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Checkpoints,
    testing::Values(Pairs{{"model.architecture", "mte"}},
                    Pairs{{"model.architecture", "bert"}, {"train.warmup", ".4"}, {"train.clip", ".01"}},
                    Pairs{
                        {"model.architecture", "bert"}, {"train.clip", ".01"}, {"train.clip_mode", "global"}},
                    Pairs{{"model.architecture", "nap"}, {"task.name", "mode"}},
                    Pairs{{"model.architecture", "non"}}, Pairs{{"model.architecture", "sum"}},
                    Pairs{{"model.architecture", "max"}, {"task.name", "local_global"}},
                    Pairs{{"model.dropout", ".3"}}, Pairs{{"train.l2", ".01"}},
                    Pairs{{"eval.every", "2"}, {"seed", "3"}},
                    Pairs{{"eval.sequences", "0"}, {"eval.case_sequences", "0"}}));

TEST(Checkpoint, OfTheMiddleOfAnEvaluationHasTheEpochsSteps) {
  const Config config = configuration(small);
  Keeper keeper;
  keeper.stop_at = 2 * 5 + 2;
  const Outcome o = train(config, keeper);
  EXPECT_TRUE(o.history.step.empty());
  EXPECT_EQ(keeper.kept->step, 5);
  EXPECT_GT(keeper.kept->unfinished.loss, 0);
  EXPECT_TRUE(keeper.kept->history.step.empty());
}

TEST(Checkpoint, IsMadeOnlyIfItIsWanted) {
  Keeper keeper;
  train(configuration(small), keeper);
  EXPECT_EQ(keeper.given, 0);
}

TEST(Checkpoint, AddsUpTheTime) {
  const Config config = configuration(small);
  Keeper keeper;
  keeper.stop_at = 8;
  train(config, keeper);
  keeper.kept->seconds = {1000, 2000, 3000};
  Keeper rest;
  const TimeSpent all = train(config, rest, std::move(keeper.kept)).seconds;
  EXPECT_GT(all.training, 1000);
  EXPECT_GT(all.evaluation, 2000);
  EXPECT_GT(all.data, 3000);
  EXPECT_LT(all.data, 3100);
}

TEST(Checkpoint, OfATrialThatDivergesLaterLeadsThere) {
  const Config config =
      configuration(small + Pairs{{"model.architecture", "sum"}, {"train.learning_rate", "1e30"}});
  Keeper whole;
  whole.always = true;
  const Outcome all = train(config, whole);
  ASSERT_EQ(all.status, Status::diverged);
  ASSERT_GE(whole.given, 1);
  Keeper keeper, rest;
  keeper.stop_at = 4;
  train(config, keeper);
  const Outcome o = train(config, rest, std::move(keeper.kept));
  EXPECT_EQ(o.status, Status::diverged);
  EXPECT_EQ(o.message, all.message);
}

TEST(Checkpoint, OfAnotherConfigurationIsRefused) {
  Keeper keeper, none;
  keeper.stop_at = 8;
  train(configuration(small), keeper);
  const Checkpoint good = *keeper.kept;
  EXPECT_THROW(train(configuration(small + Pairs{{"model.dim", "16"}}), none, good), ConfigError);
  EXPECT_THROW(train(configuration(small + Pairs{{"model.layers", "3"}}), none, good), ConfigError);
  for (const std::int64_t step : {-1, 6}) {
    Checkpoint wrong = good;
    wrong.step = step;
    EXPECT_THROW(train(configuration(small), none, wrong), ConfigError) << step;
  }
}

}  // namespace
}  // namespace headlab::test
