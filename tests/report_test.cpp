#include "experiments/report.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headlab::test {
namespace {

History small_history() {
  History h;
  h.relative_length = {1, .5};
  h.step = {100, 200};
  h.train_loss = {2.30259, 1.5};
  h.train_accuracy = {.1, .25};
  h.learning_rate = {2.187e-4, 1e-5};
  h.validation_accuracy = {std::nan(""), std::nan(""), .5, .75};
  return h;
}

TEST(Report, HasALineAnEpoch) {
  const History h = small_history();
  EXPECT_EQ(epoch_header(h), "epoch      loss  accuracy  validation@1  validation@0.5       rate");
  EXPECT_EQ(epoch_line(h, 0), "    1    2.3026    0.1000             -               -  2.187e-04");
  EXPECT_EQ(epoch_line(h, 1), "    2    1.5000    0.2500        0.5000          0.7500  1.000e-05");
}

TEST(Report, TellsOfTestsThatWereMade) {
  History h = small_history();
  EXPECT_EQ(test_lines(h), "");
  h.test_loss = {1.25, std::nan("")};
  h.test_accuracy = {.5, std::nan("")};
  EXPECT_EQ(test_lines(h), "test@1: loss 1.2500, accuracy 0.5000\n");
}

TEST(Report, TellsOfTheLastEpochsCases) {
  History h = small_history();
  EXPECT_EQ(case_lines(h), "");
  h.case_length = {1, .5};
  h.case_name = {"first", "argmax"};
  h.case_correct = {9, 9, 9, 9, 1, 2, 3, 0};
  h.case_total = {9, 9, 9, 9, 4, 4, 4, 0};
  EXPECT_EQ(case_lines(h), "first   @1 0.2500  @0.5 0.7500\nargmax  @1 0.5000  @0.5 -\n");
  h.case_total.back() = h.case_correct.back() = -1;
  EXPECT_EQ(case_lines(h), "first   @1 0.2500  @0.5 0.7500\nargmax  @1 0.5000  @0.5 -\n");
}

}  // namespace
}  // namespace headlab::test
