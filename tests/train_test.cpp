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
  EXPECT_NEAR(all->loss, loss, 1e-6 * loss);
  double squares = 0;
  for (const double g : sum) squares += g * g;
  const double rms = std::sqrt(squares / double(sum.size()));
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(whole[k], sum[k], 2e-4 * rms);
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

TEST(Learner, DrawsItsBatchesByStep) {
  const Config config = configuration(small);
  Learner learner(config);
  for (const std::uint64_t s : {0, 1, 7}) {
    const Sequences batch = sequences(config, Purpose::training, s, 5, 12);
    EXPECT_EQ(learner.batch(std::int64_t(s)).tokens, batch.tokens);
    EXPECT_EQ(learner.batch(std::int64_t(s)).labels, batch.labels);
  }
}

/// The rows of a History, one measurement after the other as a Learner gives them.
struct ByHand {
  Config config;
  Learner learner{config};
  std::vector<double> train_loss{}, train_accuracy{}, gradient_norm{}, loss{}, accuracy{};
  std::vector<std::int32_t> correct{}, total{};

  static bool never() { return false; }
  void train_epoch(std::int64_t first, std::int64_t steps) {
    double losses = 0, accuracies = 0, norms = 0;
    for (std::int64_t s = first; s < first + steps; ++s) {
      const auto m = learner.differentiate(s, learner.batch(s), never);
      const double norm = headlab::gradient_norm(learner.parameters());
      learner.update(s, norm);
      losses += m->loss, accuracies += m->accuracy, norms += norm;
    }
    train_loss.push_back(losses / double(steps));
    train_accuracy.push_back(accuracies / double(steps));
    gradient_norm.push_back(norms / double(steps));
  }
  void evaluate(Purpose purpose, std::int64_t count) {
    for (const std::int64_t length : {12, 6}) {
      const auto m =
          learner.evaluate(sequences(config, purpose, std::uint64_t(length), count, length), never);
      loss.push_back(m->loss);
      accuracy.push_back(m->accuracy);
    }
  }
  void count_cases() {
    const Task& t = task(config.task.name);
    for (const std::int64_t length : {12, 6}) {
      const Sequences set = t.balanced(config, length);
      const auto answers = learner.evaluate(set, never)->answers;
      const std::size_t each = answers.size() / set.cases.size();
      for (std::uint32_t mask = 1; mask < 1U << t.cases.size(); mask *= 2) {
        correct.push_back(0), total.push_back(0);
        for (std::size_t k = 0; k < answers.size(); ++k)
          if ((set.cases[k / each] & mask) != 0)
            ++total.back(), correct.back() += answers[k] == set.labels[k];
      }
    }
  }
};
void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-12) << k;
}

TEST(Train, MeasuresWhatALearnerGives) {
  for (const std::string name : {"argmin_first_argmax", "local_global"}) {
    const Outcome o = run({{"task.name", name}});
    ByHand hand{configuration(small + Pairs{{"task.name", name}})};
    const Config::Train& train = hand.config.train;
    std::vector<double> rates;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      hand.train_epoch(4 * epoch, 4);
      hand.evaluate(Purpose::validation, 10);
      hand.count_cases();
      rates.push_back(learning_rate(train, 4 * epoch + 3));
    }
    expect_near(o.history.train_loss, hand.train_loss);
    expect_near(o.history.train_accuracy, hand.train_accuracy);
    expect_near(o.history.gradient_norm, hand.gradient_norm);
    expect_near(o.history.learning_rate, rates);
    EXPECT_EQ(o.history.validation_loss, hand.loss);
    EXPECT_EQ(o.history.validation_accuracy, hand.accuracy);
    EXPECT_EQ(o.history.case_correct, hand.correct);
    EXPECT_EQ(o.history.case_total, hand.total);
    hand.loss.clear(), hand.accuracy.clear();
    hand.evaluate(Purpose::test, 20);
    EXPECT_EQ(o.history.test_loss, hand.loss);
    EXPECT_EQ(o.history.test_accuracy, hand.accuracy);
    std::int64_t parameters = 0;
    for (const Region& r : hand.learner.parameters().entries()) parameters += r.rows * r.cols;
    EXPECT_EQ(o.parameters, parameters);
    EXPECT_EQ(double(o.operations_per_step), step_operations(hand.config));
    EXPECT_EQ(o.chance_accuracy, task(hand.config.task.name).chance(hand.config, false, 12));
    EXPECT_EQ(o.chance_accuracy_training, task(hand.config.task.name).chance(hand.config, true, 12));
  }
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

}  // namespace
}  // namespace headlab::test
