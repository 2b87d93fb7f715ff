#include "experiments/filter.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/support/columns.hpp"

namespace headlab::test {
namespace {

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
  for (const char* yes : {"model.dim = 8",
                          "model.dim==8.0",
                          "model.dim < 10",
                          "model.dim<=8",
                          "model.dim >= 8",
                          "model.dim > 7.5",
                          "model.dim != 16",
                          "lr = 2.187e-4",
                          "d_model=8",
                          "status = done",
                          "model.architecture = 'nap'",
                          "best_validation_accuracy@0.5 > .35",
                          "seed != 3",
                          "id = 01234",
                          "id = 0123456789abcdef",
                          "id != 1234",
                          "eval.relative_lengths = 1,.5",
                          "model.attention_gelu = true",
                          "provenance.host = here",
                          "provenance.host < i",
                          "message != 'loss is NaN'",
                          "model.attention_gelu != false"})
    EXPECT_TRUE(holds(yes)) << yes;
  for (const char* no :
       {"model.dim = 16", "model.dim < 8", "model.dim > 10", "status != done", "seed = 0", "id = 1234",
        "id != 01234", "message = ''", "provenance.host = 'her'", "eval.relative_lengths = 1"})
    EXPECT_FALSE(holds(no)) << no;
}

TEST_F(Filters, AreJoinedByAndWhichBindsTighterThanOr) {
  for (const char* yes :
       {"model.dim = 8 and status = done  and  lr < 1", "model.dim = 9 or status = done",
        "model.dim = 8 or status = done and seed = 0", "status=done AND(model.dim=9 Or model.dim=8)",
        "model.dim = 9 and seed = 0 or status = done", "((status = done))", "(model.dim = 8)and(lr<1)"})
    EXPECT_TRUE(holds(yes)) << yes;
  for (const char* no : {"model.dim = 8 and status = failed", "model.dim = 9 and status = done",
                         "(model.dim = 8 or status = done) and seed = 0", "seed = 0 or model.dim = 9",
                         "status = done and (seed = 0 or model.dim = 9)"})
    EXPECT_FALSE(holds(no)) << no;
}

TEST_F(Filters, TellThePlaceOfWhatTheyDoNotUnderstand) {
  const std::pair<const char*, const char*> faults[]{
      {"model.dmi = 8", "1: model.dmi: not a column, the nearest is model.dim"},
      {"seed = 1 and zzzzzz = 8", "14: zzzzzz: not a column"},
      {"", "1: a column must stand here, not the end"},
      {"model.dim", "10: one of = != < <= > >= must stand here, not the end"},
      {"model.dim ~ 8", "11: one of = != < <= > >= must stand here, not ~"},
      {"model.dim =", "12: a value must stand here, not the end"},
      {"model.dim = = 8", "13: a value must stand here, not ="},
      {"= 8", "1: a column must stand here, not ="},
      {"model.dim = 8 and", "18: a column must stand here, not the end"},
      {"model.dim = 8 status = done", "15: and, or or the end must stand here, not status"},
      {"message = loss is NaN", "16: and, or or the end must stand here, not is"},
      {"(model.dim = 8", "15: and, or or ) must stand here, not the end"},
      {"model.dim = 8)", "14: and, or or the end must stand here, not )"},
      {"message = 'loss", "11: 'loss has no end"},
      {"status = done or failed", "18: failed: not a column"},
      {"!seed = 1", "1: a column must stand here, not !"}};
  for (const auto& [given, told] : faults)
    EXPECT_EQ(fault(given), std::string("--where: character ") + told) << given;
}

TEST_F(Filters, RefuseValuesThatNeverOccur) {
  const std::pair<const char*, const char*> faults[]{
      {"status = dnoe",
       "10: status: dnoe is not one of done, diverged, failed, interrupted, the nearest is done"},
      {"status = Done",
       "10: status: Done is not one of done, diverged, failed, interrupted, the nearest is done"},
      {"status != 3", "11: status: 3 is not one of done, diverged, failed, interrupted"},
      {"model.architecture = nab",
       "22: model.architecture: nab is not one of bert, mte, nap, non, sum, max, the nearest is nap"},
      {"task.name = mdoe",
       "13: task.name: mdoe is not one of argmin_first_argmax, mode, local_global, multi_relation, file, the "
       "nearest is mode"},
      {"model.attention_gelu = 1", "24: model.attention_gelu: 1 is not one of false, true"},
      {"model.dim = big", "13: model.dim: big is not a number"},
      {"test_accuracy > ''", "17: test_accuracy: \"\" is not a number"},
      {"eval.relative_lengths = half", "25: eval.relative_lengths: half is not a list of numbers"},
      {"id = xyz", "6: id: xyz is no beginning of an id of 16 digits 0 to f"},
      {"status < done", "10: status: has no order for <, = and != alone"}};
  for (const auto& [given, told] : faults)
    EXPECT_EQ(fault(given), std::string("--where: character ") + told) << given;
}

TEST(FiltersOfNothing, KnowWhatEveryTrialHas) {
  const ColumnNames names(core_keys(), {});
  EXPECT_THROW(filter("status = dnoe", names), ConfigError);
  filter("status = done and id = 0 and message = '' and model.dim = 1", names);
}

}  // namespace
}  // namespace headlab::test
