#include "sweeps/runner.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <xmmintrin.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/base/error.hpp"
#include "core/log/atomic_file.hpp"
#include "tests/support/definition.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;

const std::string axes =
    "base.train.epochs = 2\n[grid]\nmodel.dim = [8, 32, 16]\nseed = [1, 0]\nlr = [0.1, 0.9]\n";

/// Remembers what it ran, in order.
struct Log {
  std::mutex mutex;
  std::vector<std::string> ids;

  void add(const std::string& id) {
    const std::lock_guard lock(mutex);
    ids.push_back(id);
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return ids.size();
  }
  RunTrial run() {
    return [this](const PlannedTrial& t, const Stop&) { return add(t.id), sample_record(t); };
  }
};

struct RunnerTest : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of(axes);
  Log log;

  RunResult go(const RunOptions& options, const std::string& inner = "a") const {
    Store store(folder.path / inner);
    return run(core_only(), plan, store, options);
  }
  Store store(const std::string& inner = "a") const { return Store(folder.path / inner); }
};

TEST_F(RunnerTest, RunsSeedBySeedTheLongestFirst) {
  const RunResult r = go(sample_options(log.run()));
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(r.ran, 12);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.faults, std::vector<std::string>{});
  std::vector<std::string> expected;
  for (const std::int64_t seed : {0, 1})
    for (const std::int64_t dim : {32, 16, 8})
      for (const PlannedTrial& t : plan.trials)
        if (t.config.seed == seed && t.config.model.dim == dim) expected.push_back(t.id);
  EXPECT_EQ(log.ids, expected);
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

TEST_F(RunnerTest, ResultsDoNotDependOnWorkersOrOrder) {
  go(sample_options({}, 1), "a");
  go(sample_options({}, 2), "b");
  RunOptions backwards = sample_options({}, 5);
  backwards.cost = [](const Config& c) { return -static_cast<double>(c.model.dim); };
  go(backwards, "c");
  expect_same_contents(folder.path / "a", folder.path / "b");
  expect_same_contents(folder.path / "a", folder.path / "c");
}

TEST_F(RunnerTest, RunsTrialsSideBySide) {
  std::atomic<int> now{0}, most{0};
  go(sample_options(
      [&](const PlannedTrial& t, const Stop&) {
        const int n = ++now;
        for (int seen = most; n > seen && !most.compare_exchange_weak(seen, n);) {
        }
        for (int i = 0; i < 200 && most < 3; ++i) std::this_thread::sleep_for(10ms);
        --now;
        return sample_record(t);
      },
      3));
  EXPECT_EQ(most, 3);
}

TEST_F(RunnerTest, EachWorkerIsOneThreadThatFlushesDenormals) {
  omp_set_num_threads(7);
  const unsigned before = _mm_getcsr() & ~_MM_EXCEPT_MASK;
  go(sample_options(
      [&](const PlannedTrial& t, const Stop&) {
        EXPECT_EQ(omp_get_max_threads(), 1);
        EXPECT_EQ(_MM_GET_FLUSH_ZERO_MODE(), unsigned(_MM_FLUSH_ZERO_ON));
        return sample_record(t);
      },
      2));
  EXPECT_EQ(omp_get_max_threads(), 7);
  EXPECT_EQ(_mm_getcsr() & ~_MM_EXCEPT_MASK, before);
}

TEST_F(RunnerTest, RunAgainDoesNothing) {
  go(sample_options());
  const std::string bytes = read_bytes(folder.path / "a" / "results.h5");
  const auto written = std::filesystem::last_write_time(folder.path / "a" / "results.h5");
  const RunResult again = go(sample_options(log.run()));
  EXPECT_TRUE(log.ids.empty());
  EXPECT_EQ(again.ran, 0);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(std::filesystem::last_write_time(folder.path / "a" / "results.h5"), written);
  EXPECT_EQ(read_bytes(folder.path / "a" / "results.h5"), bytes);
}

TEST_F(RunnerTest, AnExtendedSpecificationRunsWhatIsNew) {
  go(sample_options());
  const std::vector<std::string> old = plan.ids();
  plan = plan_of(axes + "model.layers = [1, 2]\n");  // 2 is the default
  const RunResult r = go(sample_options(log.run()));
  EXPECT_EQ(r.counts, (Counts{24, 12, 12, 0, 0, 0}));
  EXPECT_EQ(log.ids.size(), 12u);
  for (const std::string& id : old) EXPECT_EQ(std::ranges::count(log.ids, id), 0);
  Choice narrow;
  narrow.overrides.settings = {{"model.dim", "8", "command line"}};
  plan = plan_of(axes, narrow);
  EXPECT_EQ(go(sample_options(log.run())).counts, (Counts{4, 2, 2, 0, 0, 20}));
  EXPECT_EQ(log.ids.size(), 12u);
  const Results results = read_results(folder.path / "a" / "results.h5");
  EXPECT_EQ(results.trials.size(), 24u);
  EXPECT_EQ(results.trials[1].id, plan.ids()[1]) << "the file is of the last plan";
}

TEST_F(RunnerTest, AnExceptionFailsItsTrialAlone) {
  const RunTrial breaks = [](const PlannedTrial& t, const Stop&) {
    if (t.config.model.dim == 16) throw RunError("NaN in " + std::to_string(t.config.seed));
    if (t.config.model.dim == 8) throw 3;
    return sample_record(t);
  };
  const RunResult r = go(sample_options(breaks, 2));
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

TEST_F(RunnerTest, ARecordOfAnotherTrialIsAFailure) {
  const PlannedTrial other = plan.trials[0];
  RunOptions options = sample_options([&](const PlannedTrial&, const Stop&) { return sample_record(other); });
  options.only = {plan.ids()[0], plan.ids()[1]};
  const RunResult r = go(options);
  EXPECT_EQ(r.counts, (Counts{12, 1, 0, 1, 10, 0}));
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_EQ(r.faults[0], "trial " + plan.ids()[1] + ": [runner] a record must be of trial " + plan.ids()[1] +
                             ", is of " + plan.ids()[0]);
}

TEST_F(RunnerTest, RetriesFailedTrialsAfterAllOthers) {
  RunOptions first =
      sample_options([](const PlannedTrial&, const Stop&) -> TrialRecord { throw RunError("no"); });
  first.only = {plan.ids()[4], plan.ids()[6]};  // of dim 32, which else come first
  EXPECT_EQ(go(first).counts, (Counts{12, 0, 0, 2, 10, 0}));
  EXPECT_EQ(go(sample_options(log.run())).counts, (Counts{12, 6, 6, 0, 0, 0}));
  ASSERT_EQ(log.ids.size(), 12u);
  EXPECT_EQ(log.ids[10], plan.ids()[6]);  // seed 0
  EXPECT_EQ(log.ids[11], plan.ids()[4]);
  EXPECT_EQ(contents(folder.path / "a").at(plan.ids()[4]).status, Status::done);
}

TEST_F(RunnerTest, RunsOnlyWhatIsSelected) {
  RunOptions options = sample_options(log.run());
  options.only = selected(plan.ids()[3] + "," + plan.ids()[2].substr(0, 9), plan, store());
  const RunResult r = go(options);
  EXPECT_EQ(r.counts, (Counts{12, 1, 1, 0, 10, 0}));
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(std::set(log.ids.begin(), log.ids.end()), *options.only);
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
  std::atomic<int> begun{0};
  RunOptions options = sample_options(
      [&](const PlannedTrial& t, const Stop& stop) {
        TrialRecord r = sample_record(t);
        if (++begun < 4) return r;
        while (!stop()) std::this_thread::sleep_for(1ms);
        r.status = Status::interrupted;
        return r;
      },
      2);
  options.stop = [&] { return begun >= 5; };
  const RunResult r = go(options);
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_EQ(r.ran, 3);
  EXPECT_EQ(r.counts.pending, 9);
  EXPECT_EQ(std::ranges::count_if(store().trials(),
                                  [](const auto& t) { return t.second.status == Status::interrupted; }),
            2);
  EXPECT_EQ(go(sample_options(log.run())).counts, (Counts{12, 6, 6, 0, 0, 0}));
  EXPECT_EQ(log.ids.size(), 9u);
  go(sample_options(), "b");
  expect_same_contents(folder.path / "a", folder.path / "b");
}

TEST_F(RunnerTest, StoppedAfterTheLastTrialIsNotStopped) {
  RunOptions options = sample_options(log.run());
  options.stop = [this] { return log.count() == 12; };
  EXPECT_EQ(go(options).exit_code, 0);
}

TEST_F(RunnerTest, StoppedBeforeItRetriesIsStopped) {
  const RunTrial breaks = [](const PlannedTrial&, const Stop&) -> TrialRecord { throw RunError("no"); };
  EXPECT_EQ(go(sample_options(breaks)).exit_code, 1);
  RunOptions options = sample_options(log.run());
  options.stop = [] { return true; };
  EXPECT_EQ(go(options).exit_code, 75);
  EXPECT_EQ(log.count(), 0u);
}

TEST_F(RunnerTest, LeavesDamagedTrialsAloneAndSaysSo) {
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

TEST_F(RunnerTest, AFailureToStoreIsThrown) {
  Store store(folder.path / "a");
  std::filesystem::create_directories(folder.path / "a");
  write_atomically(folder.path / "a" / "trials", "a file in the way");
  try {
    run(core_only(), plan, store, sample_options({}, 2));
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

TEST_F(RunnerTest, AFullDiskStopsAtOnce) {
  const SmallDisk disk(folder.path);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount";
  plan = plan_of("[grid]\nseed = '0:40'");
  const RunTrial trial = [&](const PlannedTrial& t, const Stop& stop) {
    std::this_thread::sleep_for(20ms);
    return log.run()(t, stop);
  };
  const RunResult r = go(sample_options(trial));
  EXPECT_EQ(r.exit_code, 75);
  EXPECT_LT(log.ids.size(), 40u);
  EXPECT_EQ(r.counts, count(plan, store()));
  EXPECT_GT(r.counts.done, 0);
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_NE(r.faults[0].find(folder.path.native()), std::string::npos) << r.faults[0];
  EXPECT_NE(r.faults[0].find(" KiB free)"), std::string::npos) << r.faults[0];
}

TEST_F(RunnerTest, ShowsProgress) {
  RunOptions options =
      sample_options([](const PlannedTrial&, const Stop&) -> TrialRecord { throw RunError("no"); });
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
  std::map<std::string, bool> folded;  // by the line's first word
  double now = 0;
  Progress progress({[&](std::string_view line) {
                       folded[std::string(line.substr(0, line.find(' ')))] =
                           std::filesystem::exists(folder.path / "a" / "results.h5");
                     },
                     false},
                    [&] { return now += 31; });
  RunOptions options = sample_options();
  options.progress = &progress;
  EXPECT_EQ(go(options).counts.done, 260);
  EXPECT_FALSE(folded.at("256"));
  EXPECT_TRUE(folded.at("257"));
  EXPECT_EQ(contents(folder.path / "a").size(), 260u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path / "a" / "trials" / plan.ids()[0].substr(0, 2)));
}

class Silent : public Sink {
 public:
  explicit Silent(const Stop& asked) : asked_(asked) {}
  bool stop() override { return asked_(); }

 private:
  const Stop& asked_;
};

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
)");
  const RunTrial train_one = [](const PlannedTrial& t, const Stop& stop) {
    Silent sink(stop);
    return record_of(core_only(), t.config, train(t.config, sink));
  };
  RunOptions options = sample_options(train_one, 1);
  EXPECT_EQ(go(options, "a").counts, (Counts{24, 24, 0, 0, 0, 0}));
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

/// Slow trials; 12 of them, each 30 ms.
RunOptions slow() {
  return sample_options(
      [](const PlannedTrial& t, const Stop&) {
        std::this_thread::sleep_for(30ms);
        return sample_record(t);
      },
      2);
}

/// Not a test: what KilledAtAnyMoment starts in a process of its own.
TEST(RunnerProcess, DISABLED_Runs) {
  const char* folder = std::getenv("HEADLAB_TEST_FOLDER");
  ASSERT_NE(folder, nullptr);
  const StoreLock lock(folder);
  Store store(folder);
  run(core_only(), plan_of(axes), store, slow());
}

pid_t start_runner(const std::filesystem::path& folder) {
  std::string variable = "HEADLAB_TEST_FOLDER=" + folder.native(), program = "headlab_tests",
              also = "--gtest_also_run_disabled_tests", filter = "--gtest_filter=RunnerProcess.DISABLED_Runs",
              brief = "--gtest_brief=1";
  char* arguments[] = {program.data(), also.data(), filter.data(), brief.data(), nullptr};
  std::vector<char*> environment{variable.data()};
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  environment.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) != 0) return -1;
  return pid;
}

TEST_F(RunnerTest, KilledAtAnyMomentGoesOnToTheSameResults) {
  const std::filesystem::path killed = folder.path / "killed";
  std::size_t kept = 0;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = start_runner(killed);
    ASSERT_GT(pid, 0);
    const auto before = Store(killed).trials().size();
    for (int wait = 0; wait < 1000 && Store(killed).trials().size() < before + 2; ++wait)
      std::this_thread::sleep_for(5ms);
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended before";
    const Store store(killed);
    EXPECT_TRUE(store.damaged().empty());
    EXPECT_GE(store.trials().size(), before + 2);
    kept = store.trials().size();
  }
  ASSERT_LT(kept, 12u);
  Store store(killed);
  const StoreLock lock(killed);
  const RunResult r = run(core_only(), plan, store, sample_options(log.run()));
  EXPECT_EQ(log.ids.size(), 12 - kept);
  EXPECT_EQ(r.counts, (Counts{12, 6, 6, 0, 0, 0}));
  go(sample_options(), "b");
  expect_same_contents(killed, folder.path / "b");
}

}  // namespace
}  // namespace headlab::test
