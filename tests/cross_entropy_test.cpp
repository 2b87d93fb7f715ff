#include "core/layers/cross_entropy.hpp"

#include "tests/definitions/layers.hpp"

namespace headlab::test {
namespace {

struct Loss {
  Axis axis = Axis::tokens;
  Index classes = 0;  ///< 0: over the tokens of each sequence
  float scale = 1;
  bool shared = false;  ///< another consumer has written the logits' gradient before
  Index answers = 1;    ///< softmaxes side by side
};

/// (answers classes, columns) as (classes, columns answers), a column's answers next to each other.
template <class T>
Table<T> by_answer(const Table<T>& logits, Index answers) {
  const Index classes = logits.rows / answers;
  Table<T> one(classes, logits.cols * answers);
  for (Index r = 0; r < logits.rows; ++r)
    for (Index t = 0; t < logits.cols; ++t) one(r % classes, t * answers + r / classes) = logits(r, t);
  return one;
}

Plan plan_of(Parameters& parameters, Chunk chunk, const Loss& loss) {
  return Plan(parameters, chunk, [&](Planner& p, Layers& layers) -> Ends {
    const Slot logits = p.slot("logits", loss.classes ? loss.classes * loss.answers : 1, loss.axis);
    if (loss.classes) {
      layers.add<ClassCrossEntropy>(p, logits, loss.answers);
    } else {
      layers.add<TokenCrossEntropy>(p, logits);
    }
    if (loss.shared) p.use(logits);
    return {{logits}, logits};
  });
}

void expect_loss(Chunk chunk, const Loss& loss) {
  Parameters parameters;
  Plan plan = plan_of(parameters, chunk, loss);
  const Context c = plan.context();
  const Slot& logits = plan.ends().output;
  std::mt19937 rng(7);
  fill(c.value(logits), rng, loss.scale);
  if (loss.shared) fill(c.grad(logits), rng);
  const Table<double> x = read(c.value(logits)), before = read(c.grad(logits));
  const auto columns = [&](const auto& table) {
    return loss.classes ? by_answer(table, loss.answers) : by_sequence(table, chunk.length);
  };
  const Table<double> each = columns(x);
  std::vector<std::int32_t> labels, answers;
  for (Index t = 0; t < each.cols; ++t) {
    std::int32_t best = 0;
    for (std::int32_t k = 0; k < each.rows; ++k)
      if (each(k, t) > each(best, t)) best = k;
    answers.push_back(best);
    // Of large logits a wrong one: where the right one is far ahead, its gradient p - 1 vanishes in float.
    const std::uint32_t ahead = loss.scale > 1 ? 1 : std::uint32_t(rng());
    labels.push_back(std::int32_t((std::uint32_t(best) + ahead) % std::uint32_t(each.rows)));
  }
  plan.work.labels = labels;
  plan.work.answer_weight = 0.37F;

  plan.forward();
  const auto define = [&](const auto& in) { return cross_entropy(columns(in.at("logits")), labels); };
  const Tables<double> in{{"logits", x}};
  EXPECT_NEAR(plan.work.loss, define(in)(0, 0), 1e-6 * (loss.scale + double(labels.size())));
  EXPECT_EQ(plan.work.answers, answers);

  plan.backward();
  Table<double> weight(1, 1);
  weight(0, 0) = double(plan.work.answer_weight);
  Table<double> want = derivative(in, "logits", weight, define);
  if (each.rows == 1) std::ranges::fill(want.data, 0);  // up to the definition's rounding
  if (loss.shared) want = sum(want, before);
  expect_close("d logits", c.grad(logits), want, 1);
  expect_padding({"logits", c.value(logits), c.grad(logits), 1});
}

TEST(CrossEntropy, MatchesItsDefinitionInEverySize) {
  for (const Chunk chunk : {Chunk{1, 1}, Chunk{1, 5}, Chunk{7, 3}, Chunk{33, 1}, Chunk{64, 2}})
    for (const float scale : {1.F, 30.F})
      for (const bool shared : {false, true}) {
        expect_loss(chunk, {.scale = scale, .shared = shared});
        for (const Axis axis : {Axis::tokens, Axis::sequences}) expect_loss(chunk, {axis, 3, scale, shared});
      }
}

TEST(CrossEntropy, MatchesItsDefinitionOfSeveralAnswers) {
  for (const Chunk chunk : {Chunk{1, 1}, Chunk{7, 3}, Chunk{33, 2}})
    for (const bool shared : {false, true})
      for (const Axis axis : {Axis::tokens, Axis::sequences}) expect_loss(chunk, {axis, 5, 3, shared, 4});
}

TEST(CrossEntropy, MatchesItsDefinitionForAnyNumberOfClasses) {
  for (const Index classes : {1, 2, 40, 130}) expect_loss({3, 2}, {Axis::tokens, classes});
}

/// The loss of logits (0, 0, ..., 0) but for what `set` does to them; labels are all 0.
template <class Set>
Work work_of(Index classes, const Set& set) {
  static const std::vector<std::int32_t> labels(1, 0);
  Parameters parameters;
  Plan plan = plan_of(parameters, {classes ? 1 : 21, 1}, {.classes = classes});
  const Context c = plan.context();
  const Matrix logits = c.value(plan.ends().output);
  for (Index r = 0; r < logits.rows; ++r) std::fill_n(logits.row(r), logits.cols, 0.F);
  set([&](Index k) -> float& { return classes ? logits(k, 0) : logits(0, k); });
  plan.work.labels = labels;
  plan.forward();
  return plan.work;
}

TEST(CrossEntropy, AnswersWithTheFirstMaximum) {
  for (const Index classes : {0, 21}) {
    EXPECT_EQ(work_of(classes, [](const auto&) {}).answers, std::vector{0});
    EXPECT_EQ(work_of(classes, [](const auto& at) { at(20) = at(9) = at(13) = 1; }).answers, std::vector{9});
    EXPECT_EQ(work_of(classes, [](const auto& at) { at(0) = -1; }).answers, std::vector{1});
  }
}

TEST(CrossEntropy, IsExactForHugeLogits) {
  for (const Index classes : {0, 21}) {
    EXPECT_EQ(work_of(classes, [](const auto& at) { at(3) = 3e38F; }).loss, double(3e38F));
    EXPECT_EQ(work_of(classes, [](const auto& at) { at(0) = 3e38F; }).loss, 0);
    EXPECT_NEAR(work_of(classes,
                        [](const auto& at) {
                          for (Index k = 0; k < 21; ++k) at(k) = -1e6F;
                        })
                    .loss,
                std::log(21), 1e-6);
  }
}

TEST(CrossEntropy, OfOneNaNLogitIsNaN) {
  for (const Index classes : {0, 21})
    for (const Index where : {0, 1, 7, 8, 16, 20}) {
      const Work work = work_of(classes, [&](const auto& at) { at(where) = std::nanf(""); });
      EXPECT_TRUE(std::isnan(work.loss)) << where;
      EXPECT_LT(work.answers.at(0), 21);
    }
}

TEST(CrossEntropy, RejectsLogitsThatAreNotOneAToken) {
  Parameters parameters;
  Planner p(parameters, {4, 2});
  expect_config_error([&] { TokenCrossEntropy(p, p.slot("logits", 3)); },
                      "loss: 3 x 8 logits, not one a token");
  expect_config_error([&] { TokenCrossEntropy(p, p.slot("logits", 1, Axis::sequences)); },
                      "loss: 1 x 2 logits, not one a token");
}

}  // namespace
}  // namespace headlab::test
