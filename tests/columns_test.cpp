#include "experiments/columns.hpp"

#include <gtest/gtest.h>

#include "tests/support/columns.hpp"

namespace headlab::test {
namespace {

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

}  // namespace
}  // namespace headlab::test
