#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/bench/bare_products.hpp"
#include "core/bench/step_speed.hpp"
#include "core/kernels/multiply_adds.hpp"
#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "experiments/bench_report.hpp"
#include "tests/support/child.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

const Pairs tiny{{"model.dim", "8"},    {"model.layers", "2"}, {"model.heads", "1"},  {"task.length", "5"},
                 {"train.batch", "60"}, {"train.epochs", "2"}, {"train.warmup", ".1"}};

/// Runs a chunk of the first batch forwards and backwards.
Plan& ran(Learner& learner, const Sequences& batch, Index sequences) {
  Plan& plan = learner.plan({batch.length, sequences});
  plan.work.tokens = std::span(batch.tokens).first(static_cast<std::size_t>(batch.length * sequences));
  plan.work.labels =
      std::span(batch.labels)
          .first(batch.labels.size() / std::size_t(batch.count) * static_cast<std::size_t>(sequences));
  learner.parameters().zero_gradients();
  plan.forward();
  plan.backward();
  return plan;
}

class BenchOf : public testing::TestWithParam<const char*> {
 protected:
  Config config = configuration(tiny + Pairs{{"model.architecture", GetParam()}});
  Learner learner{config};
};

TEST_P(BenchOf, ProductsHaveAllOperationsButThoseOfAttention) {
  const double tokens = 60 * 5, d = 8, length = 5, layers = 2;
  const bool pools = GetParam() == std::string("sum") || GetParam() == std::string("max");
  const double attention = pools ? 0 : 3 * 2 * layers * tokens * length * 2 * d;
  EXPECT_EQ(BareProducts(ran(learner, learner.batch(0), 60)).operations(),
            step_operations(config) - attention);
}

TEST_P(BenchOf, ProductsAreThoseOfTheStep) {
  Plan& plan = ran(learner, learner.batch(0), 51);
  const Parameters& p = learner.parameters();
  const Block gradient = p.gradient;
  const double loss = plan.work.loss;
  learner.parameters().zero_gradients();
  BareProducts(plan).run();
  for (const Region& r : p.entries()) {
    Block there = p.gradient, wanted = gradient;
    const Matrix got = at(there, r), want = at(wanted, r);
    for (Index row = 0; row < r.rows; ++row)
      for (Index col = 0; col < r.cols; ++col)
        ASSERT_EQ(got(row, col), r.name.ends_with(".weight") ? want(row, col) : 0) << r.name;
  }
  EXPECT_EQ(plan.work.loss, loss);
}

TEST_P(BenchOf, TimedStepsHaveTheSameBits) {
  const Sequences batch = learner.batch(0);
  Learner timed(config);
  LayerSeconds seconds;
  timed.plan({5, 60}).seconds = &seconds;
  EXPECT_EQ(ran(timed, batch, 60).work.loss, ran(learner, batch, 60).work.loss);
  EXPECT_TRUE(std::ranges::equal(timed.parameters().gradient, learner.parameters().gradient));
}

TEST_P(BenchOf, PartsMakeUpTheStep) {
  const StepSpeed speed = measure_step(config, {.rounds = 2, .seconds = 1e9});
  EXPECT_EQ(speed.step.seconds.size(), 2U);
  EXPECT_EQ(speed.step_operations, step_operations(config));
  EXPECT_EQ(speed.weight_operations, BareProducts(ran(learner, learner.batch(0), 51)).operations() +
                                         BareProducts(ran(learner, learner.batch(0), 9)).operations());
  const bool pools = GetParam() == std::string("sum") || GetParam() == std::string("max");
  std::vector<std::string> names;
  double sum = 0;
  for (const StepPart& part : parts_of(speed.observed)) {
    names.push_back(part.name);
    sum += part.seconds;
    EXPECT_GE(part.seconds, 0) << part.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"data", "embedding", "products", pools ? "pooling" : "attention",
                                             "norms", "loss", "norm, clipping", "Adam", "rest"}));
  EXPECT_NEAR(sum, speed.observed.whole, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Architectures, BenchOf, testing::Values("bert", "mte", "nap", "non", "sum", "max"));

TEST(Bench, TimesDropoutApart) {
  const Config config = configuration(tiny + Pairs{{"model.dropout", ".5"}});
  const StepSpeed speed = measure_step(config, {.rounds = 1});
  EXPECT_GT(speed.observed.layers.forward[std::size_t(LayerKind::dropout)], 0);
  EXPECT_GT(speed.observed.layers.backward[std::size_t(LayerKind::dropout)], 0);
}

TEST(Bench, TimesLongSequencesTileByTileWithTheSameBits) {
  const Config config = configuration(tiny + Pairs{{"task.length", "1100"}, {"train.batch", "1"}});
  Learner learner(config), timed(config);
  const Sequences batch = learner.batch(0);
  LayerSeconds seconds;
  timed.plan({1100, 1}).seconds = &seconds;
  Plan& plan = ran(timed, batch, 1);
  EXPECT_EQ(plan.work.loss, ran(learner, batch, 1).work.loss);
  EXPECT_TRUE(std::ranges::equal(timed.parameters().gradient, learner.parameters().gradient));
  BareProducts(plan).run();
  EXPECT_TRUE(std::ranges::all_of(timed.parameters().gradient, [](float x) { return std::isfinite(x); }));
}

TEST(Bench, EachLayerIsOfOneKind) {
  const Config config = configuration(tiny);
  Learner learner(config);
  std::array<int, layer_kinds> count{};
  for (const auto& layer : learner.plan({5, 60}).layers().all()) ++count[std::size_t(layer->kind())];
  // embedding; query-key-value, mix, hidden, output twice and the readout; attention twice; LN_a to LN_d
  // twice
  EXPECT_EQ(count, (std::array<int, layer_kinds>{1, 9, 2, 0, 8, 0, 1}));
}

TEST(Bench, TellsTheBestAndTheMedian) {
  const Repeats odd{{3, 1, 5}}, even{{4, 1, 2, 7}};
  EXPECT_EQ(std::pair(odd.best(), odd.median()), std::pair(1., 3.));
  EXPECT_EQ(std::pair(even.best(), even.median()), std::pair(1., 3.));
}

TEST(Bench, StopsWhenTheTimeIsOver) {
  const StepSpeed speed = measure_step(configuration(tiny), {.rounds = 1000, .seconds = 1e-9});
  EXPECT_EQ(speed.step.seconds.size(), 1U);
}

TEST(Bench, SharesAreOfSpeeds) {
  StepSpeed speed;
  speed.step_operations = 12, speed.weight_operations = 10;
  speed.step.seconds = {3, 2}, speed.products.seconds = {1, 1.5};
  EXPECT_DOUBLE_EQ(share_of_products(speed), .6);
}

/// x = x / 2 + 1 from 0: 2 (1 - 2^-n) after n times in every chain and lane.
TEST(Bench, CountsMultiplyAddsThatAreMade) {
  for (const auto* isa : {&kernels::v3::multiply_adds, &kernels::multiply_adds()}) {
    EXPECT_EQ(isa->run(1), static_cast<float>(isa->operations * .5));
    EXPECT_EQ(isa->run(3), static_cast<float>(isa->operations * .875));
  }
}

struct BenchCommand : testing::Test {
  TemporaryFolder folder;
  const std::string quick = "$HEADLAB bench --rounds 1 --model.layers 1 --task.length 4 --train.batch 2 ";

  Ended run(const std::string& command) const { return shell(command, folder.path); }
  nlohmann::json json(const std::string& command) const {
    return nlohmann::json::parse(run(command + " --json").out);
  }
};

TEST_F(BenchCommand, MultipliesValuesOut) {
  const auto all = json(quick + "--model.dim 4,8 --model.architecture sum,mte");
  EXPECT_EQ(all["version"], 1);
  std::vector<std::pair<int, std::string>> shapes;
  for (const auto& one : all["bench"])
    shapes.emplace_back(one["configuration"]["model.dim"], one["configuration"]["model.architecture"]);
  EXPECT_EQ(shapes,
            (std::vector<std::pair<int, std::string>>{{4, "sum"}, {4, "mte"}, {8, "sum"}, {8, "mte"}}));
}

TEST_F(BenchCommand, DoesNotCareForEvaluation) {
  const Ended ended =
      run("$HEADLAB bench --rounds 1 --model.layers 1 --model.dim 8 --train.batch 1"
          " --task.name mode --task.length 1,2000000 --model.architecture sum --seconds 1e-4");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
}

TEST_F(BenchCommand, TellsAllThatItMeasured) {
  const auto one = json(quick + "--model.dim 8 --model.architecture nap")["bench"].at(0);
  EXPECT_EQ(one["rounds"], 1);
  EXPECT_EQ(one["step"]["operations"], 3. * 2 * 2 * (4 * (2 * 8 * 32 + 4 * 8 * 8 + 4 * (8 + 8)) + 4 * 8));
  EXPECT_EQ(one["evaluation"]["operations"], one["step"]["operations"].get<double>() / 3);
  double sum = 0;
  for (const auto& part : one["parts"]) sum += part["ms"].get<double>();
  EXPECT_NEAR(sum, one["observed_step_ms"].get<double>(), 1e-9);
  for (const char* what : {"step", "data", "forward_and_backward", "update", "evaluation", "products"})
    EXPECT_GE(one[what]["median_ms"], one[what]["best_ms"]) << what;
  for (const char* what : {"step", "evaluation", "products"})
    EXPECT_NEAR(one[what]["share_of_peak"].get<double>() * one["peak_gflops"].get<double>(),
                one[what]["gflops"].get<double>(), 1e-6);
}

TEST_F(BenchCommand, PrintsATableOfAtMost100Columns) {
  const Ended ended = run(quick + "--model.dim 8 --train.l2 0,.1");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nmte: model.dim 8, task.length 4, train.batch 2, model.layers 1, model.heads 4, "
                           "train.l2 0.1\n"),
            ended.out.npos)
      << ended.out;
  EXPECT_NE(ended.out.find("\nnap: "), ended.out.npos);
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST_F(BenchCommand, TakesAFileAndWhatOverridesIt) {
  write_atomically(folder.path / "a.toml", "[model]\ndim = 8\narchitecture = 'max'\n[train]\nbatch = 3\n");
  const auto all = json(quick + "a.toml --model.dim 4,16");
  ASSERT_EQ(all["bench"].size(), 2U);
  for (const auto& one : all["bench"]) {
    EXPECT_EQ(one["configuration"]["model.architecture"], "max");
    EXPECT_EQ(one["configuration"]["train.batch"], 2);
  }
  EXPECT_EQ(all["bench"][1]["configuration"]["model.dim"], 16);
}

TEST_F(BenchCommand, LeavesOutWhatTakesTooLong) {
  const std::string command = quick + "--model.dim 8 --model.architecture mte --seconds 1e-9";
  const auto one = json(command)["bench"].at(0);
  EXPECT_NE(one["left_out"].get<std::string>().find("more than --seconds 1e-09"), std::string::npos);
  EXPECT_FALSE(one.contains("step"));
  EXPECT_NE(run(command).out.find("a step of 4.03e-05 GFLOP would take some "), std::string::npos);
}

TEST_F(BenchCommand, TellsWhatIsWrongBeforeAnythingRuns) {
  write_atomically(folder.path / "a.toml", "[model]\ndmi = 8\n");
  const std::pair<std::string, std::string> all[]{
      {"--rounds 0", "error: --rounds: 0 is not in [1, 1e+06]\n"},
      {"--seconds x", "error: --seconds: x is not a number > 0\n"},
      {"--model.dim 8,x", "error: model.dim: x is not an integer >= 1\n"},
      {"--model.dim 8,9 --model.architecture mte",
       "error: model.dim: 9 is not a multiple of model.heads = 4 (1 point)\n"},
      {"none.toml", "error: none.toml: not a file that can be read\n"},
      {"a.toml", "error: a.toml:2:1: model.dmi: not a key, the nearest is model.dim\n"},
      {"--model.dmi 8", "error: --model.dmi: not an option, the nearest is --model.dim\n"}};
  for (const auto& [words, errors] : all) {
    const Ended ended = run("$HEADLAB bench " + words);
    EXPECT_EQ(ended.code, 2) << words;
    EXPECT_EQ(ended.out, "") << words;
    EXPECT_EQ(ended.err, errors);
  }
}

}  // namespace
}  // namespace headlab::test
