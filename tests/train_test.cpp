#include <cstring>

#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"
#include "core/train/trainer.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

const Pairs small{{"model.dim", "8"},
                  {"model.heads", "2"},
                  {"task.length", "12"},
                  {"train.batch", "5"},
                  {"train.steps_per_epoch", "4"},
                  {"train.epochs", "3"},
                  {"eval.sequences", "10"},
                  {"eval.case_sequences", "30"},
                  {"eval.test_sequences", "20"},
                  {"train.learning_rate", "1e-2"}};

TEST(Schedule, DecaysToZeroAndWarmsUp) {
  const Config mte = configuration({}), bert = configuration({{"model.architecture", "bert"}});
  EXPECT_DOUBLE_EQ(learning_rate(mte.train, 0), 2.187e-4);
  EXPECT_NEAR(learning_rate(mte.train, 3199), 2.187e-4 / 3200, 1e-12 * 2.187e-4);
  EXPECT_EQ(learning_rate(bert.train, 0), 0);
  EXPECT_DOUBLE_EQ(learning_rate(bert.train, 319), 2.187e-4 * 319 / 320);
  EXPECT_DOUBLE_EQ(learning_rate(bert.train, 320), 2.187e-4 * (1 - .1));  // the jump is meant
}

/// Two parameters side by side and one of their own, with given gradients.
struct Three {
  Parameters parameters;
  Parameter pair, own;
  Three() {
    pair = parameters.side_by_side({{"query.weight", 2}, {"key.weight", 1}}, 2);
    own = parameters.get("bias", 1, 2);
    std::ranges::fill(parameters.value, 1.F);
    set({3, 4, 0, 0, 0, 12}, {.3F, .4F});
  }
  void set(const std::vector<float>& g, const std::vector<float>& b) {
    for (Index r = 0; r < 2; ++r)
      for (Index c = 0; c < 3; ++c) at(parameters.gradient, pair)(r, c) = g[std::size_t(3 * r + c)];
    for (Index c = 0; c < 2; ++c) at(parameters.gradient, own)(0, c) = b[std::size_t(c)];
  }
  double gradient(const Parameter& p, Index r, Index c) { return at(parameters.gradient, p)(r, c); }
};

TEST(Optimiser, ClipsEachVariableOrAllTogether) {
  Config::Train train = configuration({{"train.clip", "1"}}).train;
  Three each;
  const double norm = gradient_norm(each.parameters);
  EXPECT_NEAR(norm, std::sqrt(9 + 16 + 144 + .25), 1e-6);
  clip(each.parameters, train, norm);
  EXPECT_NEAR(each.gradient(each.pair, 0, 1), 4. / 5, 1e-6);   // query: norm 5
  EXPECT_NEAR(each.gradient(each.pair, 1, 2), 1, 1e-6);        // key: norm 12
  EXPECT_FLOAT_EQ(float(each.gradient(each.own, 0, 0)), .3F);  // below the bound: as it was
  Three all;
  train.clip_mode = ClipMode::global;
  clip(all.parameters, train, norm);
  EXPECT_NEAR(all.gradient(all.pair, 0, 1), 4 / norm, 1e-6);
  EXPECT_NEAR(all.gradient(all.own, 0, 0), .3 / norm, 1e-6);
}

TEST(Optimiser, AddsL2ToWeightsOnly) {
  Three t;
  add_l2(t.parameters, .25);
  EXPECT_FLOAT_EQ(float(t.gradient(t.pair, 0, 0)), 3.5F);
  EXPECT_FLOAT_EQ(float(t.gradient(t.own, 0, 0)), .3F);
}

TEST(Optimiser, IsAdamWithEpsilonOutsideTheRoot) {
  Three t;
  t.parameters.zero_gradients();
  double w = 1, m = 0, v = 0;
  for (int step = 1; step <= 5; ++step) {
    const double g = std::sin(step) * 1e-6;  // so small that epsilon counts
    t.set({float(g), 0, 0, 0, 0, 0}, {0, 0});
    adam(t.parameters, 1e-2, step);
    m = .9 * m + .1 * g;
    v = .999 * v + .001 * g * g;
    w -= 1e-2 * std::sqrt(1 - std::pow(.999, step)) / (1 - std::pow(.9, step)) * m / (std::sqrt(v) + 1e-7);
    EXPECT_NEAR(at(t.parameters.value, t.pair)(0, 0), w, 1e-6) << step;
  }
}

TEST(Learner, ABatchIsTheMeanOfItsSequencesInWhateverChunks) {
  // 100 tokens: two sequences a chunk and an odd one
  const Config config = configuration(small + Pairs{{"task.length", "100"}});
  Learner learner(config);
  const Sequences batch = learner.batch(0);
  ASSERT_EQ(batch.count, 5);
  const auto never = [] { return false; };
  const auto all = learner.differentiate(0, batch, never);
  const Block whole = learner.parameters().gradient;
  std::vector<double> sum(whole.size());
  double loss = 0;
  for (std::int64_t b = 0; b < 5; ++b) {
    const auto tokens = batch.tokens.begin() + b * 100;
    loss +=
        learner.differentiate(0, {1, 100, {tokens, tokens + 100}, {batch.labels[std::size_t(b)]}, {}}, never)
            ->loss /
        5;
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += double(learner.parameters().gradient[k]) / 5;
  }
  EXPECT_NEAR(all->loss, loss, 1e-6);
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(whole[k], sum[k], 1e-6);
}

TEST(Learner, FirstUpdateOfWarmUpMovesTheMomentsOnly) {
  const Config config = configuration(small + Pairs{{"model.architecture", "bert"}, {"train.warmup", "0.5"}});
  Learner learner(config);
  const Block before = learner.parameters().value;
  learner.differentiate(0, learner.batch(0), [] { return false; });
  learner.update(0, gradient_norm(learner.parameters()));
  EXPECT_EQ(learner.parameters().value, before);
  EXPECT_GT(std::count_if(learner.parameters().moment1.begin(), learner.parameters().moment1.end(),
                          [](float x) { return x != 0; }),
            0);
}

struct Watch : Sink {
  int epochs = 0, asked = 0, stop_at = -1;
  void epoch(const History& h) override { EXPECT_EQ(std::ssize(h.step), ++epochs); }
  bool stop() override { return ++asked == stop_at; }
};
Outcome run(const Pairs& pairs, int stop_at = -1) {
  Watch watch;
  watch.stop_at = stop_at;
  return train(configuration(small + pairs), watch);
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(Train, MeasuresEveryEpoch) {
  const Outcome o = run({});
  EXPECT_EQ(o.status, Status::done);
  const History& h = o.history;
  EXPECT_EQ(h.step, (std::vector<std::int64_t>{4, 8, 12}));
  EXPECT_EQ(h.sequences_seen, (std::vector<std::int64_t>{20, 40, 60}));
  EXPECT_EQ(h.relative_length, (std::vector{1., .5}));
  EXPECT_EQ(h.case_name.size(), 7u);
  for (const auto* table : {&h.train_loss, &h.train_accuracy, &h.learning_rate, &h.gradient_norm})
    EXPECT_EQ(table->size(), 3u);
  for (const auto* table : {&h.validation_loss, &h.validation_accuracy}) EXPECT_EQ(table->size(), 6u);
  for (const auto* table : {&h.case_correct, &h.case_total}) EXPECT_EQ(table->size(), 3u * 2 * 7);
  EXPECT_EQ(h.case_total[0], 10);  // 30 in three cases
  EXPECT_EQ(h.test_loss.size(), 2u);
  EXPECT_NEAR(h.train_loss[0], std::log(12), .5);
  EXPECT_GT(o.parameters, 0);
}

TEST(Train, GivesTheSameBitsAgain) {
  for (const auto architecture : split(words(Architecture{})))
    for (const char* dropout : {"0", "0.1"}) {
      const Pairs kind{{"model.architecture", std::string(architecture)}, {"model.dropout", dropout}};
      const Outcome a = run(kind), b = run(kind), other = run(kind + Pairs{{"seed", "1"}});
      EXPECT_TRUE(same_bits(a.history.train_loss, b.history.train_loss)) << architecture;
      EXPECT_TRUE(same_bits(a.history.test_loss, b.history.test_loss)) << architecture;
      EXPECT_EQ(a.history.case_correct, b.history.case_correct);
      EXPECT_FALSE(same_bits(a.history.train_loss, other.history.train_loss)) << architecture;
    }
}

TEST(Train, LearnsTheMode) {
  const Outcome o = run({{"task.name", "mode"},
                         {"model.architecture", "sum"},
                         {"task.vocabulary", "3"},
                         {"train.epochs", "10"},
                         {"train.steps_per_epoch", "30"},
                         {"train.batch", "16"}});
  EXPECT_GT(o.history.train_accuracy.back(), .9);
  EXPECT_LT(o.history.train_loss.back(), .5 * o.history.train_loss.front());
  EXPECT_TRUE(o.history.case_name.empty());
}

TEST(Train, EvaluatesWhenItIsTold) {
  const Outcome o = run({{"eval.every", "2"}});
  EXPECT_TRUE(std::isnan(o.history.validation_loss[0]));
  EXPECT_EQ(o.history.case_total[0], -1);
  EXPECT_FALSE(std::isnan(o.history.validation_loss[2]));
  EXPECT_FALSE(std::isnan(o.history.validation_loss[4])) << "after the last epoch";
  const Outcome none =
      run({{"eval.sequences", "0"}, {"eval.case_sequences", "0"}, {"eval.test_sequences", "0"}});
  EXPECT_EQ(none.status, Status::done);
  EXPECT_TRUE(std::isnan(none.history.validation_loss[4]));
  EXPECT_TRUE(std::isnan(none.history.test_loss[0]));
  EXPECT_TRUE(none.history.case_total.empty());
}

TEST(Train, EvaluationDoesNotChangeTraining) {
  const Outcome a = run({}),
                b = run({{"eval.every", "3"}, {"eval.sequences", "0"}, {"eval.case_sequences", "0"}});
  EXPECT_TRUE(same_bits(a.history.train_loss, b.history.train_loss));
}

TEST(Train, SaysWhenALossIsNotFinite) {
  const Outcome o = run({{"train.learning_rate", "1e30"}, {"model.architecture", "sum"}});
  EXPECT_EQ(o.status, Status::diverged);
  EXPECT_NE(o.message.find(" at step "), std::string::npos) << o.message;
  EXPECT_EQ(o.history.train_loss.size(), o.history.step.size());
  EXPECT_TRUE(o.history.test_loss.empty());
}

TEST(Train, StopsWithWholeEpochs) {
  Watch watch;
  train(configuration(small), watch);
  for (int at = 1; at <= watch.asked; at += 7) {
    const Outcome o = run({}, at);
    EXPECT_EQ(o.status, Status::interrupted) << at;
    EXPECT_EQ(o.history.validation_loss.size(), 2 * o.history.step.size()) << at;
    EXPECT_EQ(o.history.case_total.size(), 14 * o.history.step.size()) << at;
    EXPECT_TRUE(o.history.test_loss.empty());
  }
}

TEST(Train, WithoutEpochsOnlyTests) {
  const Outcome o = run({{"train.epochs", "0"}});
  EXPECT_EQ(o.status, Status::done);
  EXPECT_TRUE(o.history.step.empty());
  EXPECT_EQ(o.history.test_loss.size(), 2u);
}

TEST(Cost, CountsProducts) {
  // one layer, d = 2, one head, N = 3, V = 5: q, k, v, mix 4 each, ff 2 * 2 * 8, readout 2, attention N (2 +
  // 2)
  const Config c = configuration({{"model.layers", "1"},
                                  {"model.dim", "2"},
                                  {"model.heads", "1"},
                                  {"task.length", "3"},
                                  {"task.vocabulary", "5"},
                                  {"task.argmin_token", "1"},
                                  {"task.first_token", "2"},
                                  {"train.batch", "7"}});
  EXPECT_EQ(step_operations(c), 3 * 2 * 7 * 3 * (4 * 4 + 2 * 2 * 8 + 3 * 4 + 2));
}

TEST(Cost, CountsTheMemoryOfDropout) {
  const auto needed = [](const char* length, const char* dropout) {
    return memory_needed(configuration({{"task.length", length}, {"model.dropout", dropout}}));
  };
  EXPECT_GT(needed("128", "0.1"), needed("128", "0"));
  EXPECT_LT(needed("1024", "0.1"), 1.2 * needed("1024", "0")) << "bits, not floats";
}

TEST(Cost, RefusesWhatNoMemoryHolds) {
  for (const Pairs& huge : {Pairs{{"model.feed_forward", "9223372036854775807"}},
                            {{"model.layers", "100000000"}},
                            {{"task.vocabulary", "16777216"}, {"model.dim", "512"}},
                            {{"model.dim", "1000000000"}},
                            {{"task.length", "16777216"}, {"eval.case_sequences", "0"}},
                            {{"eval.sequences", "1e15"}}}) {
    Watch watch;
    EXPECT_THROW(train(configuration(huge), watch), ConfigError) << huge[0].first;
  }
  EXPECT_NO_THROW(require_feasible(configuration({{"model.dim", "1024"}, {"task.length", "4096"}})));
  EXPECT_LT(memory_needed(configuration({})), 60e6);
}

}  // namespace
}  // namespace headlab::test
