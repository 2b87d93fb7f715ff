// What headlab sweep --only selects, and what is lost while a sweep runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/error.hpp"
#include "sweeps/selection.hpp"
#include "tests/support/child.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {
namespace {

struct Only : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of("[grid]\nseed = '0:4'");
  Store store{folder.path / "run"};

  std::string fault(const std::string& only) const try {
    selected(only, plan, store);
    return "none";
  } catch (const ConfigError& e) {
    return e.what();
  }
};

TEST_F(Only, RefusesFilesThatNameNothing) {
  const std::string inner = folder.path.native(), file = (folder.path / "ids").native();
  EXPECT_EQ(fault("@" + inner), "--only: " + inner + " is not a file that can be read");
  EXPECT_EQ(fault("@"), "--only: \"\" is not a file that can be read");
  EXPECT_EQ(fault("@/dev/null"), "--only: /dev/null names no trial");
  write_quickly(file, " \n\n");
  EXPECT_EQ(fault("@" + file), "--only: " + file + " names no trial");
  write_quickly(file, plan.ids()[0] + "\n" + plan.ids()[2]);
  EXPECT_EQ(selected("@" + file, plan, store), (std::set<std::string>{plan.ids()[0], plan.ids()[2]}));
}

struct Lost : Only {
  RunOptions options = sample_options();
  RunResult run() { return headlab::run(core_only(), plan, store, options); }
};

TEST_F(Lost, TrialsAreToldAndPendingAgain) {
  options.worker = scenario("removes", store.folder());
  RunResult result = run();
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_EQ(result.counts.pending, 3);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0],
            store.folder().native() + ": 3 finished trials have gone while the sweep ran: run it again");
  options.worker = scenario("fine");
  result = run();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.counts.done, 4);
}

TEST_F(Lost, ResultsAreMissed) {
  store.add(sample_record(plan.trials[0]));
  store.fold(plan, false);
  store.add(sample_record(plan.trials[1]));
  store.refresh();
  EXPECT_EQ(store.lost(), 0);
  std::filesystem::remove(store.results_path());
  store.refresh();
  EXPECT_EQ(store.lost(), 1);
  EXPECT_EQ(store.find(plan.trials[0].id), nullptr);
  EXPECT_NE(store.find(plan.trials[1].id), nullptr);
  EXPECT_FALSE(store.is_folded(plan));
}

TEST_F(Lost, FoldersOfTrialsGoWithTheirLastFile) {
  for (const PlannedTrial& t : plan.trials) store.add(sample_record(t));
  const auto kept = store.trial_path(plan.trials[0].id).parent_path() / "note.txt";
  write_quickly(kept, "mine");
  store.fold(plan, false);
  for (const PlannedTrial& t : plan.trials)
    EXPECT_EQ(std::filesystem::exists(store.trial_path(t.id).parent_path()),
              store.trial_path(t.id).parent_path() == kept.parent_path());
  EXPECT_TRUE(std::filesystem::exists(kept));
}

}  // namespace
}  // namespace headlab::test
