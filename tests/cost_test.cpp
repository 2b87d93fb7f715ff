#include "core/train/cost.hpp"

#include "core/model/model.hpp"
#include "core/tasks/task.hpp"
#include "core/train/trainer.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

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

/// A step over whole sequences is three times their forward pass.
double forward(const Pairs& pairs, std::int64_t sequences, std::int64_t length) {
  return step_operations(configuration(pairs + Pairs{{"train.batch", std::to_string(sequences)},
                                                     {"task.length", std::to_string(length)}})) /
         3;
}

TEST(Cost, CountsProductsOfEachKind) {
  const Pairs tiny{{"model.layers", "3"},          {"model.dim", "4"},           {"model.heads", "2"},
                   {"task.vocabulary", "5"},       {"task.argmin_token", "1"},   {"task.first_token", "2"},
                   {"eval.relative_lengths", "1"}, {"model.query_key_dim", "6"}, {"model.feed_forward", "7"}};
  const double ff = 2 * 4 * 7, attention = 2 * 4 * 6 + 2 * 4 * 4 + 3 * (6 + 4);
  EXPECT_EQ(forward(tiny, 7, 3), 2 * 7 * 3 * (3 * (ff + attention) + 4));
  EXPECT_EQ(forward(tiny + Pairs{{"model.architecture", "max"}}, 7, 3), 2 * 7 * 3 * (3 * ff + 4));
  EXPECT_EQ(forward(tiny + Pairs{{"task.name", "mode"}}, 7, 3), 2 * 7 * (3 * 3 * (ff + attention) + 4 * 5));
  EXPECT_EQ(forward(tiny + Pairs{{"task.name", "local_global"}}, 7, 3),
            2 * 7 * 3 * (3 * (ff + attention) + 4 * 3));
  // A head has 3 features of a key, 2 of a value: linear in sequences of more than 3.
  const double linear = 2 * 4 * 6 + 2 * 4 * 4 + 2 * (2 * 3 * 2), mixing = 2 * (2 * 3 * 3);
  const Pairs nap{{"model.architecture", "nap"}}, non{{"model.architecture", "non"}};
  EXPECT_EQ(forward(tiny + nap, 7, 3), forward(tiny, 7, 3));
  EXPECT_EQ(forward(tiny + nap, 7, 4), 2 * 7 * 4 * (3 * (ff + linear + mixing) + 4));
  EXPECT_EQ(forward(tiny + non, 7, 4), 2 * 7 * 4 * (3 * (ff + linear) + 4));
  EXPECT_EQ(forward(tiny + nap + Pairs{{"model.dropout", "0.5"}}, 7, 4), forward(tiny, 7, 4));
}

TEST(Cost, CountsStepsEvaluationsAndTests) {
  const Pairs pairs{{"model.dim", "8"},
                    {"train.epochs", "5"},
                    {"train.steps_per_epoch", "4"},
                    {"train.batch", "7"},
                    {"eval.every", "2"},
                    {"eval.sequences", "10"},
                    {"eval.test_sequences", "20"},
                    {"eval.case_sequences", "30"},
                    {"task.length", "12"}};
  // Evaluated after epochs 2, 4 and 5
  EXPECT_NEAR(trial_operations(configuration(pairs + Pairs{{"eval.relative_lengths", "1,0.25"}})),
              5 * 4 * 3 * forward(pairs, 7, 12) + forward(pairs, 3 * 10 + 20, 12) +
                  forward(pairs + Pairs{{"eval.relative_lengths", "1"}}, 3 * 10 + 20, 3) +
                  forward(pairs, 3 * 30, 12) + forward(pairs, 3 * 30, 6),
              1);
  const Pairs mode = pairs + Pairs{{"task.name", "mode"}, {"eval.relative_lengths", "2"}};
  EXPECT_NEAR(trial_operations(configuration(mode)),
              5 * 4 * 3 * forward(mode, 7, 12) + forward(mode, 3 * 10 + 20, 24), 1);
}

TEST(Cost, LengthsAreRoundedDown) {
  const Config c = configuration({{"task.length", "100"}});
  EXPECT_EQ(length_at(c, .29), 29) << "28.999999999999996";
  EXPECT_EQ(length_at(c, .999), 99);
  EXPECT_EQ(length_at(c, 2), 200);
}

TEST(Cost, KnowsWhatATrialHolds) {
  for (const Pairs& pairs : {Pairs{{"task.vocabulary", "100000"}},
                             {{"model.feed_forward", "20000"}},
                             {{"model.layers", "12"}},
                             {{"task.length", "512"}, {"model.heads", "16"}},
                             {{"task.length", "512"}, {"model.heads", "16"}, {"model.architecture", "nap"}},
                             {{"task.length", "4096"}, {"model.architecture", "non"}},
                             {{"task.length", "4096"}, {"model.architecture", "sum"}},
                             {{"task.length", "256"}, {"model.heads", "16"}},
                             {{"task.length", "512"}, {"model.heads", "16"}, {"model.dropout", "0.1"}},
                             {{"task.length", "512"}, {"model.query_key_dim", "4096"}}}) {
    const Config config =
        configuration(pairs + Pairs{{"eval.relative_lengths", "1"}, {"eval.case_sequences", "0"}});
    Parameters parameters;
    Plan plan(parameters, {config.task.length, std::max<Index>(1, 256 / config.task.length)},
              model(config, task(config.task.name).form(config)));
    const Arena& arena = plan.context().arena;
    const double sets = double(config.task.length * (1024 + 4096)),
                 holds =
                     4 * (4. * double(parameters.value.size()) +
                          double(arena.value.size() + arena.gradient.size() + arena.tile_gradient.size()) +
                          double(arena.kept.size() + arena.scratch.size()) + sets);
    EXPECT_GT(memory_needed(config), .75 * holds) << pairs[0].first;
    EXPECT_LT(memory_needed(config), 1.5 * holds) << pairs[0].first;
  }
}

TEST(Cost, CountsTheMemoryOfDropout) {
  const auto needed = [](const char* length, const char* dropout) {
    return memory_needed(configuration({{"task.length", length}, {"model.dropout", dropout}}));
  };
  EXPECT_GT(needed("128", "0.1"), needed("128", "0"));
  EXPECT_LT(needed("128", "0.1"), 1.2 * needed("128", "0")) << "bits, not floats";
  EXPECT_GT(needed("1024", "0.1"), 1.3 * needed("1024", "0")) << "weights, otherwise made again in backward";
}

TEST(Cost, RefusesMoreThan64GiB) {
  // 16 bytes a parameter
  const auto wide = [](const char* vocabulary) {
    return configuration({{"model.dim", "1024"}, {"task.vocabulary", vocabulary}});
  };
  EXPECT_NO_THROW(require_feasible(wide("4000000")));
  EXPECT_THROW(require_feasible(wide("4200000")), ConfigError);
}

TEST(Cost, RefusesWhatNoMemoryHolds) {
  for (const Pairs& huge : {Pairs{{"model.feed_forward", "9223372036854775807"}},
                            {{"model.layers", "100000000"}},
                            {{"task.vocabulary", "16777216"}, {"model.dim", "512"}},
                            {{"model.dim", "1000000000"}},
                            {{"task.length", "16777216"}, {"eval.case_sequences", "0"}},
                            {{"eval.sequences", "1e15"}}}) {
    Sink sink;
    EXPECT_THROW(train(configuration(huge), sink), ConfigError) << huge[0].first;
  }
  EXPECT_NO_THROW(require_feasible(configuration({{"model.dim", "1024"}, {"task.length", "4096"}})));
  EXPECT_LT(memory_needed(configuration({})), 60e6);
}

}  // namespace
}  // namespace headlab::test
