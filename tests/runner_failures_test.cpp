// What goes wrong in a sweep: trials that throw, damaged files, disks that take no more.
#include <cstdlib>
#include <system_error>

#include "core/base/error.hpp"
#include "core/log/atomic_file.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

using RunnerFailures = RunnerTest;

TEST_F(RunnerFailures, AnExceptionFailsItsTrialAlone) {
  const RunResult r = go(sample_options(scenario("throws-at-some"), 2));
  EXPECT_EQ(r.counts, (Counts{12, 2, 2, 8, 0, 0}));
  EXPECT_EQ(r.exit_code, 1);
  ASSERT_EQ(r.faults.size(), 3u);
  EXPECT_TRUE(r.faults[0].starts_with("2 trials, ") && r.faults[0].ends_with(" is the first: NaN in 0"));
  EXPECT_TRUE(r.faults[2].starts_with("4 trials, ") &&
              r.faults[2].ends_with(" is the first: an exception of an unknown type"));
  for (const auto& [id, t] : contents(folder.path / "a"))
    if (t.status == Status::failed) {
      EXPECT_FALSE(t.message.empty());
      EXPECT_FALSE(t.configuration.empty());
      EXPECT_EQ(t.facts.at("result_scheme"), hdf5::Value(result_scheme));
    }
}

TEST_F(RunnerFailures, ARecordOfAnotherTrialIsAFailure) {
  RunOptions options = sample_options(scenario("is-another"));
  options.only = {plan.ids()[0], plan.ids()[1]};
  const RunResult r = go(options);
  EXPECT_EQ(r.counts, (Counts{12, 1, 0, 1, 10, 0}));
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_EQ(r.faults[0], "trial " + plan.ids()[1] + ": [worker] a record must be of trial " + plan.ids()[1] +
                             ", is of " + plan.ids()[0]);
}

TEST_F(RunnerFailures, RetriesFailedTrialsAfterAllOthers) {
  RunOptions first = sample_options(scenario("throws"));
  first.only = {plan.ids()[4], plan.ids()[6]};  // of dim 32, which else come first
  EXPECT_EQ(go(first).counts, (Counts{12, 0, 0, 2, 10, 0}));
  EXPECT_EQ(go(log.options()).counts, (Counts{12, 6, 6, 0, 0, 0}));
  ASSERT_EQ(log.count(), 12u);
  EXPECT_EQ(log.ids()[10], plan.ids()[6]);  // seed 0
  EXPECT_EQ(log.ids()[11], plan.ids()[4]);
  EXPECT_EQ(contents(folder.path / "a").at(plan.ids()[4]).status, Status::done);
}

TEST_F(RunnerFailures, LeavesDamagedTrialsAloneAndSaysSo) {
  RunOptions options = sample_options();
  options.keep_trial_files = true;
  options.only = {plan.ids()[0]};
  go(options);
  std::filesystem::remove(folder.path / "a" / "results.h5");
  write_atomically(store().trial_path(plan.ids()[0]), "x");
  const RunResult r = go(sample_options());
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_EQ(r.counts.pending, 1);
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_NE(r.faults[0].find("not an HDF5 file"), std::string::npos);
}

/// Others who start there would not see what this one has claimed.
TEST_F(RunnerFailures, ASweepEndsIfItsFolderIsRemoved) {
  Store store(folder.path / "a");
  RunOptions options = sample_options(scenario("waits-at-seed-1", log.file));
  int looks = 0;
  options.stop = [&] {
    if (log.count() > 0 && looks++ == 0) std::filesystem::remove_all(folder.path / "a");
    return false;
  };
  try {
    run(core_only(), plan, store, options);
    FAIL();
  } catch (const DamagedError& e) {
    EXPECT_EQ(e.what(), (folder.path / "a" / "claims").native() +
                            ": removed while a sweep uses it: run the sweep again");
  }
  EXPECT_LT(log.count(), 12U);
}

TEST_F(RunnerFailures, AFailureToStoreIsThrown) {
  Store store(folder.path / "a");
  std::filesystem::create_directories(folder.path / "a");
  write_atomically(folder.path / "a" / "trials", "a file in the way");
  try {
    run(core_only(), plan, store, sample_options(scenario("fine"), 2));
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("/trials"), std::string::npos) << e.what();
  }
}

/// A file system of 128 KiB in a folder, if this user may make one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& folder) : folder_(folder) {
    mounted_ =
        std::system(("mount -t tmpfs -o size=128k none " + folder.native() + " 2>/dev/null").c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_ && std::system(("umount " + folder_.native()).c_str()) != 0) ADD_FAILURE() << "umount";
  }
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path folder_;
  bool mounted_;
};

TEST_F(RunnerFailures, AFullDiskStopsAtOnce) {
  const SmallDisk disk(folder.path);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount";
  plan = plan_of("[grid]\nseed = '0:40'");
  const TemporaryFolder outside;
  const RunLog begun{outside.path / "log"};
  const RunResult r = go(begun.options());
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_LT(begun.count(), 40u);
  EXPECT_EQ(r.counts, count(plan, store()));
  EXPECT_GT(r.counts.done, 0);
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_NE(r.faults[0].find(folder.path.native()), std::string::npos) << r.faults[0];
  EXPECT_NE(r.faults[0].find(" KiB free)"), std::string::npos) << r.faults[0];
}

}  // namespace
}  // namespace headlab::test
