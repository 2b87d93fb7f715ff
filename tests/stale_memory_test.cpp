// Whole models read nothing that an earlier chunk left behind: with memory that is NaN again before every
// chunk, losses, gradients and logits have the same bits.
#include <cstring>

#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

/// Everything that some training steps and evaluations between them give.
struct Given {
  std::vector<double> losses;
  std::vector<std::int32_t> answers;
  std::vector<float> numbers;  ///< gradients, logits and at last parameters
};

void append(Given& to, const Measured& m) {
  to.losses.push_back(m.loss);
  to.answers.insert(to.answers.end(), m.answers.begin(), m.answers.end());
}

/// Batches, each followed by sequences of the half, or for mode twice the length. Chunks: as many sequences
/// as have 256 tokens, and what is left over.
Given results(const Config& config, bool fresh) {
  Learner learner(config);
  const Index other =
      config.eval.relative_lengths.back() < 1 ? config.task.length / 2 : 2 * config.task.length;
  const Sequences others = sequences(config, Purpose::validation, 0, 2 * config.train.batch, other);
  const auto before_each_chunk = [&] {
    if (fresh) learner.forget_plans();
    return false;
  };
  Given given;
  for (std::int64_t s = 0; s < 3; ++s) {
    append(given, *learner.differentiate(s, learner.batch(s), before_each_chunk));
    const Block& gradient = learner.parameters().gradient;
    given.numbers.insert(given.numbers.end(), gradient.begin(), gradient.end());
    learner.update(s, gradient_norm(learner.parameters()));
    append(given, *learner.evaluate(others, before_each_chunk));
    if (fresh) learner.forget_plans();
    const std::vector<float> logits = learner.logits(learner.batch(s));
    given.numbers.insert(given.numbers.end(), logits.begin(), logits.end());
  }
  for (const Region& r : learner.parameters().entries()) {
    const Matrix m = at(learner.parameters().value, r);
    for (Index row = 0; row < m.rows; ++row)
      given.numbers.insert(given.numbers.end(), m.row(row), m.row(row) + m.cols);
  }
  return given;
}

void expect_reads_nothing_stale(const Pairs& pairs) {
  const Config config = configuration(pairs);
  const Given usual = results(config, false), fresh = results(config, true);
  std::string what;
  for (const auto& [key, value] : pairs) what.append(key).append(" = ").append(value).append(" ");
  for (const double loss : usual.losses) EXPECT_TRUE(std::isfinite(loss)) << what;
  EXPECT_TRUE(std::ranges::all_of(usual.numbers, [](float x) { return std::isfinite(x); })) << what;
  EXPECT_EQ(usual.losses, fresh.losses) << what;
  EXPECT_EQ(usual.answers, fresh.answers) << what;
  ASSERT_EQ(usual.numbers.size(), fresh.numbers.size()) << what;
  EXPECT_EQ(std::memcmp(usual.numbers.data(), fresh.numbers.data(), usual.numbers.size() * sizeof(float)), 0)
      << what;
}

std::vector<Pairs> architectures_and_tasks() {
  std::vector<Pairs> all;
  for (const std::string task : {"argmin_first_argmax", "mode", "local_global"})
    for (const auto architecture : split(words(Architecture{})))
      all.push_back({{"task.name", task}, {"model.architecture", std::string(architecture)}});
  return all;
}

const Pairs narrow{{"model.dim", "8"}, {"model.heads", "2"}, {"train.learning_rate", "1e-2"}};

TEST(StaleMemory, IsNotReadInAnyChunk) {
  for (const Pairs& kind : architectures_and_tasks()) {
    // Chunks of 2 and 1 sequences of 100 tokens, in rows of 224 and 144 floats; of 51 and 9 of 5 tokens.
    expect_reads_nothing_stale(narrow + kind + Pairs{{"task.length", "100"}, {"train.batch", "5"}});
    expect_reads_nothing_stale(narrow + kind + Pairs{{"task.length", "5"}, {"train.batch", "60"}});
  }
}

TEST(StaleMemory, IsNotReadInAnyLayout) {
  for (const Pairs& kind : architectures_and_tasks())
    for (const std::string placement : {"bert", "mte"})
      for (const std::string gelu : {"false", "true"})
        expect_reads_nothing_stale(narrow + kind +
                                   Pairs{{"model.norm_placement", placement},
                                         {"model.attention_gelu", gelu},
                                         {"task.readout", "first_token"},
                                         {"task.length", "37"},
                                         {"train.batch", "7"}});
}

TEST(StaleMemory, IsNotReadWithDropout) {
  for (const Pairs& kind : architectures_and_tasks())
    for (const std::string placement : {"bert", "mte"})
      expect_reads_nothing_stale(narrow + kind +
                                 Pairs{{"model.norm_placement", placement},
                                       {"model.dropout", "0.1"},
                                       {"task.length", "37"},
                                       {"train.batch", "14"}});
}

TEST(StaleMemory, IsNotReadInTiles) {
  for (const Pairs& kind : architectures_and_tasks())
    for (const std::string dropout : {"0", "0.1"})
      expect_reads_nothing_stale(
          narrow + kind + Pairs{{"model.dropout", dropout}, {"task.length", "301"}, {"train.batch", "2"}});
}

TEST(StaleMemory, IsNotReadInWideModels) {
  for (const Pairs& kind : architectures_and_tasks())
    expect_reads_nothing_stale(kind +
                               Pairs{{"model.dim", "64"}, {"task.length", "100"}, {"train.batch", "3"}});
}

}  // namespace
}  // namespace headlab::test
