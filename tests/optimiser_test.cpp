#include "core/train/optimiser.hpp"

#include "core/train/learner.hpp"
#include "core/train/schedule.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

TEST(Schedule, DecaysToZeroAndWarmsUp) {
  const Config mte = configuration({}), bert = configuration({{"model.architecture", "bert"}});
  EXPECT_DOUBLE_EQ(learning_rate(mte.train, 0), 2.187e-4);
  EXPECT_NEAR(learning_rate(mte.train, 3199), 2.187e-4 / 3200, 1e-12 * 2.187e-4);
  EXPECT_EQ(learning_rate(bert.train, 0), 0);
  EXPECT_DOUBLE_EQ(learning_rate(bert.train, 319), 2.187e-4 * 319 / 320);
  EXPECT_DOUBLE_EQ(learning_rate(bert.train, 320), 2.187e-4 * (1 - .1));  // the jump is meant
}

TEST(Schedule, WarmsUpForWholeSteps) {
  const auto rate = [](const char* warmup, const char* steps, std::int64_t s) {
    return learning_rate(configuration({{"train.warmup", warmup},
                                        {"train.epochs", "1"},
                                        {"train.steps_per_epoch", steps},
                                        {"train.learning_rate", "1"}})
                             .train,
                         s);
  };
  EXPECT_DOUBLE_EQ(rate("0.25", "10", 1), 1. / 2) << "2.5 steps are 2";
  EXPECT_DOUBLE_EQ(rate("0.25", "10", 2), 1 - .2);
  EXPECT_DOUBLE_EQ(rate("0.29", "100", 1), 1. / 29) << "28.999999999999996 are 29";
  EXPECT_DOUBLE_EQ(rate("1", "4", 3), 3. / 4);
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

TEST(Learner, UpdatesByClippedAdamAtTheScheduledRate) {
  for (const std::string mode : {"per_variable", "global"}) {
    const Config config = configuration({{"model.dim", "8"},
                                         {"task.length", "12"},
                                         {"train.warmup", "0.001"},
                                         {"train.clip", "0.05"},
                                         {"train.clip_mode", mode}});
    Learner learner(config);
    Parameters expected = learner.parameters();
    for (std::int64_t s = 0; s < 3; ++s) {
      learner.differentiate(s, learner.batch(s), [] { return false; });
      const double norm = gradient_norm(learner.parameters());
      expected.gradient = learner.parameters().gradient;
      clip(expected, config.train, norm);
      adam(expected, learning_rate(config.train, s), s + 1);
      learner.update(s, norm);
      EXPECT_EQ(learner.parameters().gradient, expected.gradient) << s;
      EXPECT_EQ(learner.parameters().value, expected.value) << s;
    }
  }
}

TEST(Learner, AddsTheGradientOfL2Once) {
  // Two chunks and a third of one sequence
  const Pairs pairs{{"model.dim", "8"}, {"task.length", "100"}, {"train.batch", "5"}, {"init.std", "0.2"}};
  Learner plain(configuration(pairs)), regular(configuration(pairs + Pairs{{"train.l2", "0.25"}}));
  for (Learner* learner : {&plain, &regular})
    learner->differentiate(0, learner->batch(0), [] { return false; });
  for (const Region& r : plain.parameters().entries()) {
    const Matrix w = at(plain.parameters().value, r), without = at(plain.parameters().gradient, r),
                 with = at(regular.parameters().gradient, r);
    const float factor = r.name.ends_with(".weight") ? .5F : 0.F;
    for (Index row = 0; row < r.rows; ++row)
      for (Index c = 0; c < r.cols; ++c)
        ASSERT_NEAR(with(row, c) - without(row, c), factor * w(row, c), 1e-6) << r.name;
  }
}

}  // namespace
}  // namespace headlab::test
