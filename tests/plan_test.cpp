#include "sweeps/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/base/error.hpp"
#include "core/config/write.hpp"

namespace headlab::test {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

const Keys& keys() {
  static const Keys all = joined({core_keys()});
  return all;
}
SweepPlan plan(const std::string& text, const Choice& choice = {}) {
  return make_plan(keys(), read_specification(keys(), "name = 'a'\n" + text, "a.toml", choice));
}
std::string id_of(const Pairs& pairs) {
  Source source;
  for (const auto& [name, text] : pairs) source.settings.push_back({name, text, ""});
  return id(keys(), resolve(keys(), {source}).config);
}
std::string faults(const std::string& text) try {
  plan(text);
  return "none";
} catch (const ConfigError& e) {
  return e.what();
}
using Counts = std::vector<std::size_t>;
Counts counts(const SweepPlan& p) { return {p.points, p.excluded, p.duplicates, p.trials.size()}; }

TEST(Plan, IsTheProductInFileOrderWithZipFastest) {
  const SweepPlan p = plan(
      "base.model.layers = 1\n[zip]\ntrain.batch = [1, 2]\ntrain.steps_per_epoch = [20, 10]\n"
      "[grid]\nseed = [5, 3]\nmodel.dim = [8, 16]\n");
  EXPECT_EQ(counts(p), (Counts{8, 0, 0, 8}));
  std::vector<std::string> expected;
  for (const char* seed : {"5", "3"})
    for (const char* dim : {"8", "16"})
      for (const auto& [batch, steps] : {std::pair("1", "20"), {"2", "10"}})
        expected.push_back(id_of({{"model.layers", "1"},
                                  {"seed", seed},
                                  {"model.dim", dim},
                                  {"train.batch", batch},
                                  {"train.steps_per_epoch", steps}}));
  EXPECT_EQ(p.ids(), expected);
  EXPECT_EQ(p.trials.back().config.train.steps_per_epoch, 10);
}

TEST(Plan, TellsFaultsOfTheFileAndOfItsPointsTogether) {
  const auto faults_of = [](const std::string& text) -> std::string {
    try {
      make_plan(keys(), "name = 'a'\n" + text, "a.toml");
      return "none";
    } catch (const ConfigError& e) {
      return e.what();
    }
  };
  const std::string heads = "base.model.dim = 100\ngrid.model.heads = [3, 4]\n";
  const std::string rule = "a.toml:2:12: model.dim: 100 is not a multiple of model.heads = 3 (1 point)";
  EXPECT_EQ(faults_of(heads), rule);
  EXPECT_EQ(faults_of(heads + "[budget.smoke]\nbase.seeed = 2"),
            "a.toml:5:6: seeed: not a key, the nearest is seed\n" + rule);
  const std::pair<const char*, const char*> no_points[]{
      {"base.seed = 'x'", "a.toml:4:6: seed: x is not an integer >= 0"},
      {"grid.model.dim = [8]", "a.toml:4:12: model.dim: stands in [base] too, a.toml:2:12"},
      {"[zip]\nseed = [1]\ntrain.batch = [1, 2]",
       "a.toml:6:7: train.batch: length 2 is not that of seed, 1: axes of [zip] move together"},
      {"[[exclude]]\nseed = 1", "a.toml:5:1: seed: not an axis of [grid] or [zip]"},
      {"[[exclude]]", "a.toml:4:1: exclude: names no axis"},
      {"grid.seed = '0:1000000'", "a.toml: 2e+06 points are too many: at most 1,000,000"}};
  for (const auto& [more, fault] : no_points) EXPECT_EQ(faults_of(heads + more), fault);
}

TEST(Plan, OfASpecificationWithoutAxesIsOneTrial) {
  EXPECT_EQ(counts(plan("")), (Counts{1, 0, 0, 1}));
  EXPECT_EQ(plan("base.seed = 3").ids(), std::vector{id_of({{"seed", "3"}})});
}

TEST(Plan, LeavesOutExcludedPoints) {
  const std::string text =
      "[grid]\nmodel.architecture = ['mte', 'sum', 'max']\nmodel.dim = [8, 16]\nseed = [0, 1]\n"
      "[[exclude]]\nmodel.architecture = ['sum', 'max']\nmodel.dim = [8.0]\n"
      "[[exclude]]\nseed = 1\nmodel.dim = 16\n";
  const SweepPlan p = plan(text);
  EXPECT_EQ(counts(p), (Counts{12, 7, 0, 5}));
  for (const PlannedTrial& t : p.trials) {
    EXPECT_FALSE(t.config.model.architecture != Architecture::mte && t.config.model.dim == 8);
    EXPECT_FALSE(t.config.seed == 1 && t.config.model.dim == 16);
  }
  Choice moved;  // to [base]: the exclusion still holds
  moved.budget = "b";
  EXPECT_EQ(counts(plan(text + "[budget.b.base]\nseed = 1", moved)), (Counts{6, 5, 0, 1}));
  EXPECT_EQ(faults("[grid]\nseed = [0, 1]\n[[exclude]]\nseed = '0:2'"),
            "a: [[exclude]] leaves out all 2 points");
}

TEST(Plan, HasOneTrialForPointsThatDifferInAnInertKeyOnly) {
  const SweepPlan p = plan("[grid]\nmodel.heads = [1, 2, 4]\nmodel.architecture = ['mte', 'sum']\n");
  EXPECT_EQ(counts(p), (Counts{6, 0, 2, 4}));
  EXPECT_EQ(p.ids()[1], id_of({{"model.architecture", "sum"}}));
  EXPECT_EQ(std::set<std::string>({p.ids()[0], p.ids()[2], p.ids()[3]}).size(), 3u);
  EXPECT_EQ(p.notes, std::vector<std::string>{});
}

TEST(Plan, TellsRepeatedValuesApart) {
  const SweepPlan p = plan(
      "[grid]\nseed = [1, 2, 1]\nmodel.heads = [1, 2]\nmodel.architecture = 'sum'\n"
      "[zip]\ntrain.batch = [1, 1, 1]\ntrain.epochs = [1, 2, 1]\n");
  EXPECT_EQ(counts(p), (Counts{18, 0, 4, 4}));  // points that are both count as repeated
  EXPECT_EQ(p.repeated, 10u);
}

TEST(Plan, NotesExclusionsThatLeaveOutNothing) {
  const std::string text =
      "[grid]\nseed = [0, 1]\nmodel.dim = [8, 16]\n[[exclude]]\nseed = 3\nmodel.dim = 8\n[[exclude]]\nseed = "
      "1\n";
  EXPECT_EQ(plan(text).notes, std::vector<std::string>{"a.toml:6:1: [[exclude]]: leaves out no point"});
  EXPECT_EQ(plan(text).excluded, 2u);
}

TEST(Plan, NotesKeysThatChangeNothingAnywhere) {
  EXPECT_EQ(plan("base.model.heads = 2\n[grid]\nmodel.architecture = ['max', 'sum']\n").notes,
            std::vector<std::string>{"a.toml:2:12: model.heads: changes nothing in any trial"});
}

TEST(Plan, TellsTheRulesThatPointsBreakOnceEach) {
  EXPECT_EQ(faults("[grid]\nmodel.heads = [3, 4]\nmodel.dim = [8, 9, 12]\nseed = '0:5'\n"
                   "model.architecture = ['mte', 'sum']"),
            "a.toml:4:7: model.dim: 8 is not a multiple of model.heads = 3 (5 points)\n"
            "a.toml:4:7: model.dim: 9 is not a multiple of model.heads = 4 (5 points)");
  const std::string many = faults("base.model.heads = 64\ngrid.model.dim = '1:31'");
  EXPECT_EQ(std::ranges::count(many, '\n'), 20);
  EXPECT_TRUE(many.ends_with("\n... and 10 faults more")) << many;
}

TEST(Plan, OfThirtyThousandTrialsTakesSeconds) {
  const auto start = std::chrono::steady_clock::now();
  const SweepPlan p = plan(
      "[grid]\nmodel.architecture = ['bert', 'mte', 'nap', 'non', 'sum', 'max']\n"
      "model.dim = 'powers(2, 3, 10)'\ntrain.learning_rate = 'powers(0.3, 1, 10)'\n"
      "seed = '0:63'\n");
  EXPECT_EQ(p.trials.size(), 6u * 8 * 10 * 63);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 30) << "half a minute even on a busy machine";
}

}  // namespace
}  // namespace headlab::test
