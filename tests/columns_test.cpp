#include "experiments/columns.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

TrialRecord small_trial() {
  TrialRecord t;
  t.id = "0123456789abcdef";
  t.status = Status::done;
  t.config = {
      {"model.dim", std::int64_t{8}}, {"model.architecture", "nap"}, {"train.learning_rate", 2.187e-4}};
  t.facts = {{"seconds", 1.23456}};
  t.provenance = {{"host", "here"}};
  t.relative_length = {.5, 1};
  t.step = {10, 20};
  t.train_loss = {2, 3};
  t.train_accuracy = {.25, std::nan("")};
  t.validation_accuracy = {.1, .2, .4, .3};
  t.validation_loss = {std::nan(""), 5, 4, 6};
  t.test_accuracy = {.6, .7};
  return t;
}

TEST(Columns, AreIdentityConfigurationFactsAndProvenance) {
  const Columns c = columns(small_trial());
  EXPECT_EQ(shown(c, "id"), "0123456789abcdef");
  EXPECT_EQ(shown(c, "status"), "done");
  EXPECT_EQ(shown(c, "message"), "");
  EXPECT_EQ(shown(c, "model.dim"), "8");
  EXPECT_EQ(shown(c, "train.learning_rate"), "0.0002187");
  EXPECT_EQ(shown(c, "seconds"), "1.235");
  EXPECT_EQ(shown(c, "provenance.host"), "here");
}

TEST(Columns, AreTheBestAndTheLastOfTheEpochs) {
  const Columns c = columns(small_trial());
  const auto real = [&](const char* name) { return std::get<double>(c.at(name)); };
  EXPECT_EQ(real("best_train_loss"), 2);
  EXPECT_EQ(real("last_train_loss"), 3);
  EXPECT_EQ(real("best_train_accuracy"), .25);
  EXPECT_FALSE(c.contains("last_train_accuracy"));  // NaN
  EXPECT_EQ(real("best_validation_accuracy"), .3);
  EXPECT_EQ(real("best_validation_accuracy@1"), .3);
  EXPECT_EQ(real("best_validation_accuracy@0.5"), .4);
  EXPECT_EQ(real("best_validation_loss@0.5"), 4);
  EXPECT_EQ(real("last_validation_loss"), 6);
  EXPECT_EQ(real("test_accuracy"), .7);
  EXPECT_EQ(real("test_accuracy@0.5"), .6);
}

struct Filters : testing::Test {
  Columns trial = columns(small_trial());
  ColumnNames names{core_keys(), {trial}};

  bool holds(const std::string& expression) const { return filter(expression, names)(trial); }
  std::string fault(const std::string& expression) const {
    try {
      filter(expression, names);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  }
};

TEST_F(Filters, CompareNumbersAndTexts) {
  for (const char* yes :
       {"model.dim = 8", "model.dim==8.0", "model.dim < 10", "model.dim<=8", "model.dim >= 8",
        "model.dim > 7.5", "model.dim != 16", "lr = 2.187e-4", "d_model=8", "status = done",
        "model.architecture = 'nap'", "best_validation_accuracy@0.5 > .35",
        "model.dim = 8 and status = done  and  lr < 1", "seed != 3"})
    EXPECT_TRUE(holds(yes)) << yes;
  for (const char* no : {"model.dim = 16", "model.dim < 8", "model.dim > 10", "status != done", "seed = 0",
                         "model.dim = 8 and status = failed", "model.dim = 9 and status = done"})
    EXPECT_FALSE(holds(no)) << no;
}

TEST_F(Filters, TellWhatTheyDoNotUnderstand) {
  EXPECT_EQ(fault("model.dmi = 8"), "model.dmi: not a column, the nearest is model.dim");
  for (const char* wrong : {"", "model.dim", "model.dim ~ 8", "model.dim =", "= 8", "model.dim = 8 and"})
    EXPECT_EQ(fault(wrong).find("--where: "), 0U) << wrong;
}

}  // namespace
}  // namespace headlab::test
