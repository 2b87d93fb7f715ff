#include "sweeps/runner.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/log/atomic_file.hpp"
#include "tests/support/definition.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

std::set<std::string> as_set(const std::vector<std::string>& ids) { return {ids.begin(), ids.end()}; }

TEST_F(RunnerTest, RunsSeedBySeedTheLongestFirst) {
  const RunResult r = go(log.options());
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(r.ran, 12);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.faults, std::vector<std::string>{});
  std::vector<std::string> expected;
  for (const std::int64_t seed : {0, 1})
    for (const std::int64_t dim : {32, 16, 8})
      for (const PlannedTrial& t : plan.trials)
        if (t.config.seed == seed && t.config.model.dim == dim) expected.push_back(t.id);
  EXPECT_EQ(log.ids(), expected);
}

TEST_F(RunnerTest, LeavesEverythingInOneFileInThePlansOrder) {
  go(sample_options());
  const Results results = read_results(folder.path / "a" / "results.h5");
  std::vector<std::string> ids;
  for (const TrialRecord& t : results.trials) ids.push_back(t.id);
  EXPECT_EQ(ids, plan.ids());
  EXPECT_EQ(results.specification, plan.specification.text);
  EXPECT_FALSE(std::filesystem::exists(store().trial_path(ids[0])));
  for (const TrialRecord& t : results.trials)
    EXPECT_FALSE(std::get<std::string>(t.provenance.at("start")).empty());
}

TEST_F(RunnerTest, SaysWhatWritingEachTrialTook) {
  RunOptions options = sample_options();
  options.only = {{plan.trials[0].id}};
  go(options);
  const auto seconds = [&](std::size_t i) {
    return std::get<double>(store().read(plan.trials[i].id).provenance.at("seconds_writing"));
  };
  const double first = seconds(0);
  go(sample_options());
  EXPECT_EQ(seconds(0), first);
  for (std::size_t i = 0; i < plan.trials.size(); ++i) EXPECT_TRUE(seconds(i) > 0 && seconds(i) < 10) << i;
}

TEST_F(RunnerTest, ResultsDoNotDependOnWorkersOrOrder) {
  go(sample_options(scenario("fine"), 1), "a");
  go(sample_options(scenario("fine"), 2), "b");
  RunOptions backwards = sample_options(scenario("fine"), 5);
  backwards.cost = [](const Config& c) { return -static_cast<double>(c.model.dim); };
  go(backwards, "c");
  expect_same_contents(folder.path / "a", folder.path / "b");
  expect_same_contents(folder.path / "a", folder.path / "c");
}

TEST_F(RunnerTest, RunsTrialsSideBySide) {
  RunOptions options = sample_options(scenario("side-by-side", signs(), "3"), 3);
  EXPECT_EQ(go(options).counts, (Counts{12, 6, 6, 0, 0, 0}));
}

TEST_F(RunnerTest, EachWorkerIsOneThreadThatFlushesDenormals) {
  EXPECT_EQ(go(sample_options(scenario("in-one-thread"), 2)).counts, (Counts{12, 6, 6, 0, 0, 0}));
}

TEST_F(RunnerTest, RunAgainDoesNothing) {
  go(sample_options());
  const std::string bytes = read_bytes(folder.path / "a" / "results.h5");
  const auto written = std::filesystem::last_write_time(folder.path / "a" / "results.h5");
  const RunResult again = go(log.options());
  EXPECT_TRUE(log.ids().empty());
  EXPECT_EQ(again.ran, 0);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(std::filesystem::last_write_time(folder.path / "a" / "results.h5"), written);
  EXPECT_EQ(read_bytes(folder.path / "a" / "results.h5"), bytes);
}

TEST_F(RunnerTest, AnExtendedSpecificationRunsWhatIsNew) {
  go(sample_options());
  const std::vector<std::string> old = plan.ids();
  plan = plan_of(std::string(runner_axes) + "model.layers = [1, 2]\n");  // 2 is the default
  const RunResult r = go(log.options());
  EXPECT_EQ(r.counts, (Counts{24, 12, 12, 0, 0, 0}));
  EXPECT_EQ(log.count(), 12u);
  for (const std::string& id : old) EXPECT_EQ(std::ranges::count(log.ids(), id), 0);
  Choice narrow;
  narrow.overrides.settings = {{"model.dim", "8", "command line"}};
  plan = plan_of(runner_axes, narrow);
  EXPECT_EQ(go(log.options()).counts, (Counts{4, 2, 2, 0, 0, 20}));
  EXPECT_EQ(log.count(), 12u);
  const Results results = read_results(folder.path / "a" / "results.h5");
  EXPECT_EQ(results.trials.size(), 24u);
  EXPECT_EQ(results.trials[1].id, plan.ids()[1]) << "the file is of the last plan";
}

TEST_F(RunnerTest, RunsOnlyWhatIsSelected) {
  RunOptions options = log.options();
  options.only = selected(plan.ids()[3] + "," + plan.ids()[2].substr(0, 9), plan, store());
  const RunResult r = go(options);
  EXPECT_EQ(r.counts, (Counts{12, 1, 1, 0, 10, 0}));
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(as_set(log.ids()), *options.only);
  options.only = selected("failed", plan, store());
  EXPECT_EQ(go(options).ran, 0);
}

TEST_F(RunnerTest, SelectsById) {
  const std::vector<std::string> ids{"aa11", "aa22", "bb11"};
  EXPECT_EQ(full_id("b", ids), "bb11");
  EXPECT_EQ(full_id("aa22", ids), "aa22");
  expect_config_error([&] { full_id("aa", ids); },
                      "aa: 2 trials have ids that start so, aa11 and aa22 are two");
  expect_config_error([&] { full_id("c", ids); }, "c: no trial has such an id");
  expect_config_error([&] { selected("zz,,yy", plan, store()); },
                      "--only: zz: no trial has such an id\n--only: \"\": no trial has such an id\n"
                      "--only: yy: no trial has such an id");
  expect_config_error([&] { selected("@/none", plan, store()); },
                      "--only: /none is not a file that can be read");
  write_atomically(folder.path / "ids", plan.ids()[0] + "\n" + plan.ids()[5] + "\n");
  EXPECT_EQ(selected("@" + (folder.path / "ids").native(), plan, store()),
            (std::set{plan.ids()[0], plan.ids()[5]}));
}

TEST_F(RunnerTest, StopsWhenAskedAndGoesOn) {
  const RunLog begun{folder.path / "begun"};
  RunOptions options = sample_options(scenario("waits-at-seed-1", begun.file), 2);
  options.stop = [&] { return begun.count() == 8; };
  const RunResult r = go(options);
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_EQ(r.ran, 6);
  EXPECT_EQ(r.counts.pending, 6);
  EXPECT_EQ(std::ranges::count_if(store().trials(),
                                  [](const auto& t) { return t.second.status == Status::interrupted; }),
            2);
  EXPECT_EQ(go(log.options()).counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(log.count(), 6u);
  go(sample_options(), "b");
  expect_same_contents(folder.path / "a", folder.path / "b");
}

TEST_F(RunnerTest, StoppedAfterTheLastTrialIsNotStopped) {
  RunOptions options = log.options();
  options.stop = [this] { return log.count() == 12; };
  EXPECT_EQ(go(options).exit_code, 0);
}

TEST_F(RunnerTest, StoppedBeforeItRetriesIsStopped) {
  RunOptions two = sample_options(scenario("throws"));
  two.only = {plan.ids()[0], plan.ids()[1]};
  EXPECT_EQ(go(two).exit_code, 1);
  RunOptions options = log.options();
  options.stop = [] { return true; };
  EXPECT_EQ(go(options).exit_code, 75);
  EXPECT_EQ(log.count(), 0u);
}

TEST_F(RunnerTest, ShowsProgress) {
  RunOptions options = sample_options(scenario("throws"));
  options.only = {plan.ids()[0]};
  go(options);
  std::string out;
  double now = 0;
  Progress progress({[&](std::string_view text) { out += text; }, false}, [&] { return now += 31; });
  options = sample_options();
  options.progress = &progress;
  go(options);
  EXPECT_NE(out.find("5 of 12 done, 6 diverged, 1 failed, "), out.npos) << out;
  const std::size_t end = out.rfind("\n6 of 12 done, 6 diverged, ");
  ASSERT_NE(end, out.npos) << out;
  EXPECT_EQ(out.find("failed", end), out.npos) << out;
  EXPECT_EQ(out.find('\r'), out.npos);
}

using RunnerSlow = RunnerTest;

TEST_F(RunnerSlow, FoldsWhileItRuns) {
  plan = plan_of("base.train.epochs = 1\n[grid]\nseed = '0:260'");
  EXPECT_EQ(go(sample_options(scenario("waits-for-results", folder.path / "a/results.h5"))).counts.done, 260);
  EXPECT_EQ(contents(folder.path / "a").size(), 260u);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "a" / "trials" / plan.ids()[0].substr(0, 2)));
}

TEST_F(RunnerTest, TrainingDoesNotDependOnWorkersOrOrder) {
  plan = plan_of(R"(
[base]
model.dim = 8
task.length = 12
train.batch = 5
train.steps_per_epoch = 4
train.epochs = 3
train.learning_rate = 0.01
eval.sequences = 10
eval.case_sequences = 30
eval.test_sequences = 20
[grid]
task.name = ["argmin_first_argmax", "mode"]
model.architecture = ["bert", "mte", "nap", "non", "sum", "max"]
train.l2 = [0, 0.1]
model.dropout = [0, 0.1]
)");
  RunOptions options = sample_options(scenario("trains"), 1);
  EXPECT_EQ(go(options, "a").counts, (Counts{48, 48, 0, 0, 0, 0}));
  options.workers = 3;
  go(options, "b");
  options.cost = [](const Config& c) { return -static_cast<double>(c.model.architecture); };
  options.only = {plan.ids()[3], plan.ids()[17]};  // in two goes
  go(options, "c");
  options.only.reset();
  go(options, "c");
  expect_same_contents(folder.path / "a", folder.path / "b");
  expect_same_contents(folder.path / "a", folder.path / "c");
}

}  // namespace
}  // namespace headlab::test
