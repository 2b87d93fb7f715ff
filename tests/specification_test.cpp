#include "sweeps/specification.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/config/keys.hpp"

namespace headlab::test {
namespace {

using Texts = std::vector<std::string>;

const Keys& keys() {
  static const Keys all = joined({core_keys()});
  return all;
}
Choice choice(const std::string& budget,
              const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  Choice c{budget};
  for (const auto& [name, text] : overrides) c.overrides.settings.push_back({name, text, "command line"});
  return c;
}
Specification read(const std::string& text, const Choice& c = {}) {
  return read_specification(keys(), text, "a.toml", c);
}
std::string faults(const std::string& text, const Choice& c = {}) try {
  read(text, c);
  return "none";
} catch (const ConfigError& e) {
  return e.what();
}
/// "KEY=V V; KEY=V" of a section.
std::string shown(const std::vector<SweepAxis>& axes) {
  std::string all;
  for (const SweepAxis& axis : axes) {
    all += all.empty() ? "" : "; ";
    all += axis.key + "=";
    for (const std::string& v : axis.values) all += (&v == axis.values.data() ? "" : " ") + v;
  }
  return all;
}
std::string shown(const Specification& s) {
  return "base " + shown(s.base) + " | grid " + shown(s.grid) + " | zip " + shown(s.zip);
}

const std::string example = R"toml(name = "mode-model-dim"
title = "Mode finding"
finding = "sum is best"
[base]
task.name = "mode"
train.epochs = 8.0
[grid]
model.architecture = ["bert", "sum"]
model.dim = "powers(2, 3, 5)"
lr = [1e-3, 0.3]
seed = "range(0, 3)"
eval.relative_lengths = [[1, 2], [1.0]]
[zip]
train.batch = [1, 2, 4]
train.steps_per_epoch = "geomspace(400, 100, 3)"
[[exclude]]
model.architecture = ["sum"]
model.dim = [8, 16.0]
[[exclude]]
seed = 2
[budget.smoke]
grid.model.dim = [8]
base.train.epochs = 1
base.train.l2 = 0.5
[budget.other.grid]
task.name = ["mode", "local_global"]
[budget.other.base]
seed = 1
)toml";

TEST(Specification, IsReadInFileOrder) {
  const Specification s = read(example);
  EXPECT_EQ(s.name + "|" + s.title + "|" + s.finding, "mode-model-dim|Mode finding|sum is best");
  EXPECT_EQ(s.text, example);
  EXPECT_EQ(shown(s),
            "base task.name=mode; train.epochs=8 | grid model.architecture=bert sum; model.dim=8 16 32; "
            "train.learning_rate=0.001 0.3; seed=0 1 2; eval.relative_lengths=1,2 1 | "
            "zip train.batch=1 2 4; train.steps_per_epoch=400 200 100");
  EXPECT_EQ(points(s), 2 * 3 * 2 * 3 * 2 * 3);
  ASSERT_EQ(s.exclude.size(), 2u);
  EXPECT_EQ(shown(s.exclude[0]) + " | " + shown(s.exclude[1]),
            "model.architecture=sum; model.dim=8 16 | seed=2");
  EXPECT_EQ(s.grid[1].where, "a.toml:9:7");
}

TEST(Specification, HasBudgets) {
  EXPECT_EQ(shown(read(example, choice("paper"))), shown(read(example)));
  EXPECT_EQ(
      shown(read(example, choice("smoke"))),
      "base task.name=mode; train.epochs=1; train.l2=0.5 | grid model.architecture=bert sum; model.dim=8; "
      "train.learning_rate=0.001 0.3; seed=0 1 2; eval.relative_lengths=1,2 1 | "
      "zip train.batch=1 2 4; train.steps_per_epoch=400 200 100");
  EXPECT_EQ(shown(read(example, choice("other"))),  // keys that move to another section
            "base train.epochs=8; seed=1 | grid model.architecture=bert sum; model.dim=8 16 32; "
            "train.learning_rate=0.001 0.3; eval.relative_lengths=1,2 1; task.name=mode local_global | "
            "zip train.batch=1 2 4; train.steps_per_epoch=400 200 100");
  EXPECT_EQ(shown(read("name='a'\nbase.seed=1\n[budget.paper]\nbase.seed=2", choice("paper"))),
            "base seed=2 | grid  | zip ");
}

TEST(Specification, IsOverriddenFromTheCommandLine) {
  EXPECT_EQ(shown(read(example, choice("smoke", {{"d_model", "powers(2,1,2)"},
                                                 {"train.epochs", "1,2"},
                                                 {"seed", "1"},
                                                 {"train.batch", "1:4"},
                                                 {"eval.relative_lengths", "[1,0.5],[1,2], [3]"},
                                                 {"model.heads", "2"},
                                                 {"model.layers", "1,2"}}))),
            "base task.name=mode; train.l2=0.5; model.heads=2 | grid model.architecture=bert sum; "
            "model.dim=2 4; train.learning_rate=0.001 0.3; seed=1; eval.relative_lengths=1,0.5 1,2 3; "
            "train.epochs=1 2; model.layers=1 2 | zip train.batch=1 2 3; train.steps_per_epoch=400 200 100");
  EXPECT_EQ(shown(read("name = 'a'", choice("", {{"eval.relative_lengths", "1,0.5"}}))),
            "base eval.relative_lengths=1,0.5 | grid  | zip ");
  EXPECT_EQ(shown(read("name = 'a'\ngrid.eval.relative_lengths = '[1,0.5],[1]'\ngrid.seed = 3")),
            "base  | grid eval.relative_lengths=1,0.5 1; seed=3 | zip ");
}

TEST(Specification, TellsTheGeneratorOfAValueThatIsWrong) {
  EXPECT_EQ(faults("name = 'a'\ngrid.model.dim = '4, powers(2, -2, 3)'\ngrid.model.layers = '1,,2'\n"
                   "grid.train.epochs = '2, x'\ngrid.model.heads = ' '"),
            "a.toml:2:12: model.dim: 0.25, of 4, powers(2, -2, 3), is not an integer >= 1\n"
            "a.toml:3:12: model.layers: 1,,2 has no value next to a comma\n"
            "a.toml:4:12: train.epochs: x is not an integer in [0, 2147483647]\n"
            "a.toml:5:12: model.heads: \" \" has no value");
}

TEST(Specification, TellsAllFaultsAtOnceWithTheirPlace) {
  EXPECT_EQ(
      faults(R"toml(nam = "x"
title = 3
[base]
model.dmi = 8
train.batch = 1.5
weight_decay = 0.1
seed = [1]
lr = 0.1
train.learning_rate = 0.2
[grid]
model.heads = []
model.layers = [1, "two", 0]
model.dim = "powers(2, 3)"
eval.relative_lengths = [1, 0.5]
train.epochs = "range(3, 3)"
train.batch = [1, 2]
[zip]
task.length = [8, 16]
task.vocabulary = [10]
lr = [0.1, 0.2]
[[exclude]]
model.query_key_dim = [8]
model.layers = [0]
[[exclude]]
[budget.smoke]
gird.seed = [1]
base.seeed = 2
grid.train.l2 = ["a"]
[budget.unequal]
zip.task.vocabulary = [1, 2, 3]
[girds]
)toml",
             choice("medium", {{"model.dim", "8,x"}, {"mdoel.heads", "2"}, {"seed", "1"}, {"seed", "2"}})),
      R"(a.toml:1:1: nam: not a section, the nearest is name
a.toml:2:1: title: 3 is not a text in quotes
a.toml:24:1: exclude: names no axis
a.toml:26:1: gird: not a section of a budget, the nearest is grid
a.toml:31:2: girds: not a section
a.toml: name: "" is not a name of letters, digits, '-', '_' and '.'
a.toml:4:7: model.dmi: not a key, the nearest is model.dim
a.toml:5:7: train.batch: 1.5 is not an integer >= 1
a.toml:6:1: weight_decay: not a key, see train.l2: times the squared weights, added to the loss
a.toml:7:1: seed: [ 1 ] is not an integer >= 0
a.toml:9:7: train.learning_rate: given twice, again as 0.2
a.toml:11:7: model.heads: has no values
a.toml:12:7: model.layers: two is not an integer >= 1
a.toml:12:7: model.layers: 0 is not an integer >= 1
a.toml:13:7: model.dim: powers(2, 3) is not powers(base, first, last) with integers first <= last
a.toml:14:6: eval.relative_lengths: [ 1, 0.5 ] is not an array of arrays
a.toml:15:7: train.epochs: range(3, 3) is not range(a, b[, step]) of integers with at least one value
a.toml:16:7: train.batch: stands in [base] too, a.toml:5:7
a.toml:20:1: train.learning_rate: stands in [base] too, a.toml:8:1
a.toml:23:7: model.layers: 0 is not an integer >= 1
a.toml:19:6: task.vocabulary: length 1 is not that of task.length, 2: axes of [zip] move together
a.toml:27:6: seeed: not a key, the nearest is seed
a.toml:28:12: train.l2: a is not a number >= 0
a.toml:30:10: task.vocabulary: 1 is not an integer in [2, 16777216]
a.toml:30:10: task.vocabulary: length 3 is not that of task.length, 2: axes of [zip] move together
--budget: medium is not a budget of a.toml, which has smoke, unequal
model.dim: x is not an integer >= 1
mdoel.heads: not a key, the nearest is model.heads
seed: given twice, again as 2
a.toml:22:7: model.query_key_dim: not an axis of [grid] or [zip])");
}

TEST(Specification, TellsOtherFaults) {
  EXPECT_EQ(faults(""), "a.toml: name: \"\" is not a name of letters, digits, '-', '_' and '.'");
  EXPECT_EQ(faults("name = '../x'"),
            "a.toml: name: \"../x\" is not a name of letters, digits, '-', '_' and '.'");
  EXPECT_EQ(faults("name = 'a'\nseed ="),
            "a.toml:2:7: not TOML: Error while parsing key-value pair: encountered end-of-file");
  EXPECT_EQ(faults("name = 'a'\nbase = 1\ngrid = 'x'\nbudget = 3\nexclude = [1]"),
            "a.toml:2:1: base: is not a table\na.toml:3:1: grid: is not a table\na.toml:4:1: budget: is not "
            "a table of budgets\na.toml:5:1: exclude: is not a list of tables, [[exclude]]");
  EXPECT_EQ(faults("name = 'a'\nbudget.x = 1"), "a.toml:2:8: x: is not a table");
  EXPECT_EQ(faults("name = 'a'", choice("smoke")),
            "--budget: smoke is not a budget of a.toml, which has none");
  EXPECT_EQ(faults("name = 'a'\ngrid.seed = '0:2000'\ngrid.task.length = '1:2000'"),
            "a.toml: 4e+06 points are too many: at most 1,000,000");
  EXPECT_EQ(faults("name = 'a'\n[zip]\nseed = [1, 2]\nmodel.dim = [8, 16]", choice("", {{"seed", "1"}})),
            "a.toml:4:7: model.dim: length 2 is not that of seed, 1: axes of [zip] move together");
}

}  // namespace
}  // namespace headlab::test
