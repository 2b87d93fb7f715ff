#include "sweeps/forecast.hpp"

#include <gtest/gtest.h>

#include "core/dnn/speed.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {
namespace {

struct ForecastTest : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of(
      "title = 'T'\nbase.train.epochs = 2\n[grid]\nmodel.heads = [1, 2]\n"
      "model.architecture = ['mte', 'sum']\nmodel.dim = [8, 16]\nseed = 0\n"
      "[[exclude]]\nmodel.heads = 2\nmodel.dim = 8\nmodel.architecture = 'mte'");
  const double steps = static_cast<double>(2 * plan.trials[0].config.train.steps_per_epoch),
               fixed = usual_overhead + usual_step_overhead * steps, small = fixed + 8 / (2 * usual_share(8)),
               large = fixed + 16 / (2 * usual_share(16));   ///< seconds at speed 2
  RunOptions options = sample_options(scenario("fine"), 2);  // a trial of dim 8 costs 8
};

TEST_F(ForecastTest, AddsUpWhatIsMissing) {
  const Forecast f = forecast(plan, Store(folder.path), options, 2);
  EXPECT_EQ(plan.trials.size(), 5u);
  EXPECT_EQ(f.to_run, 5);
  EXPECT_EQ(f.operations, 8 + 16 + 8 + 16 + 16);
  EXPECT_NEAR(f.core_seconds, 2 * small + 3 * large, 1e-9);
  EXPECT_EQ(f.seconds, f.core_seconds / 2);
  options.workers = 100;
  EXPECT_EQ(forecast(plan, Store(folder.path), options, 2).seconds, large) << "no trial is faster";
}

TEST_F(ForecastTest, CountsOfATrialThatGoesOnWhatIsLeftOfIt) {
  options.share_left = [](const PlannedTrial& t) { return t.config.model.dim == 16 ? .25 : 1; };
  const Forecast f = forecast(plan, Store(folder.path), options, 2);
  EXPECT_EQ(f.operations, 8 + 4 + 8 + 4 + 4);
  EXPECT_NEAR(f.core_seconds, 2 * small + .75 * large, 1e-9);
}

TEST_F(ForecastTest, GoesByTheSpeedThatTrialsHaveReached) {
  Store store(folder.path);
  TrialRecord done = sample_record(plan.trials[0]);
  done.facts["seconds"] = 3 * small;
  store.add(done);
  TrialRecord failed = sample_record(plan.trials[1]);
  failed.status = Status::failed, failed.facts["seconds"] = 1e9;
  store.add(failed);
  const Forecast f = forecast(plan, store, options, 2);
  EXPECT_EQ(f.to_run, 4);
  EXPECT_NEAR(f.core_seconds, 3 * (small + 3 * large), 1e-9);
  EXPECT_EQ(trial_lines(core_only(), plan, store, options),
            plan.ids()[0] + " done        model.heads=1 model.architecture=mte model.dim=8 seed=0\n" +
                plan.ids()[1] + " failed      model.heads=1 model.architecture=mte model.dim=16 seed=0\n" +
                plan.ids()[2] + " missing     model.architecture=sum model.dim=8 seed=0\n" + plan.ids()[3] +
                " missing     model.architecture=sum model.dim=16 seed=0\n" + plan.ids()[4] +
                " missing     model.heads=2 model.architecture=mte model.dim=16 seed=0\n");
  EXPECT_EQ(
      dry_run_text(plan, store, options, {count(plan, store), 4000, 2e15, 3600 * 12.5, 6000, 2.5e6, 1.24e8}),
      "a: T\n8 points, 1 excluded, 2 the same as others but for keys that change nothing: 5 trials\n"
      "plan 5: 2 there (1 failed), 3 new\n"
      "to run: 4,000 trials, 2e+15 operations, about 12 core-hours, 1 h 40 min with -j 2, 2.5 MB on disk, "
      "124 MB of memory\n");
}

TEST_F(ForecastTest, ListsWhatIsSelected) {
  options.only = {plan.ids()[2]};
  EXPECT_EQ(trial_lines(core_only(), plan, Store(folder.path), options),
            plan.ids()[2] + " missing     model.architecture=sum model.dim=8 seed=0\n");
}

TEST_F(ForecastTest, TellsTheMemoryOfTheLargestTrialsAndOfRepeatedValues) {
  options.memory = [](const Config& c) { return 1e6 * static_cast<double>(c.model.dim); };
  EXPECT_EQ(forecast(plan, Store(folder.path), options, 2).memory_bytes, 32e6);
  const SweepPlan twice = plan_of("title = 'T'\ngrid.seed = [1, 1]");
  const std::string text = dry_run_text(twice, Store(folder.path), options, {});
  EXPECT_EQ(text.find("a: T\n2 points, 1 with values repeated on an axis: 1 trials\n"), 0U) << text;
}

TEST(Speed, OfAProductIsThatOfAProcessor) {
  const double speed = dnn::product_speed();
  EXPECT_GT(speed, 1e8);
  EXPECT_LT(speed, 1e13);
}

}  // namespace
}  // namespace headlab::test
