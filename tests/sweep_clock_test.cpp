// Sweeps while the clock on the wall is set, and while they are stopped.
#include <gtest/gtest.h>

#include <regex>

#include "sweeps/awake_time.hpp"
#include "tests/support/sweep.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

TEST(AwakeTime, LeavesOutWhatItsProcessWasStoppedFor) {
  double now = 50;
  AwakeTime time([&] { return now; });
  const auto after = [&](double seconds) { return now += seconds, time.look(); };
  EXPECT_EQ(after(.5), .5);
  EXPECT_EQ(after(0), .5);
  EXPECT_EQ(after(3600), 1.5);
  EXPECT_EQ(after(.25), 1.75);
}

struct SweepClock : TinySweep {
  SweepClock() { specify("train.steps_per_epoch = 20\ntrain.epochs = 5\n", "seed = [0, 1, 2, 3, 4, 5]\n"); }
  std::vector<TrialRecord> trials(const std::string& inner) const {
    return read_results(folder.path / inner / "results.h5").trials;
  }
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

double number(const TrialRecord& t, const std::string& key) { return std::get<double>(t.provenance.at(key)); }
std::string day_and_hour(const TrialRecord& t, const std::string& key) {
  return std::get<std::string>(t.provenance.at(key)).substr(0, std::size("2026-01-01T00") - 1);
}

/// By 25 hours, at the end of the first trial.
TEST_F(SweepClock, ThatIsSetChangesNothingButTimestamps) {
  ASSERT_EQ(run("$HEADLAB sweep a.toml --out plain -j 1").code, 0);
  for (const std::string shift : {"-90000", "90000"}) {
    const Ended ended = run(fmt::format(
        "LD_PRELOAD={}/libheadlab_clock_shift.so HEADLAB_CLOCK_SHIFT={} "
        "HEADLAB_CLOCK_SHIFT_AFTER='run{}/trials/*/*.h5' "
        "$HEADLAB sweep a.toml --out run{} -j 1 --trial-timeout 30m --walltime 10h --checkpoint-every 1h",
        program().parent_path().native(), shift, shift, shift));
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::smatch models;
    ASSERT_TRUE(std::regex_search(ended.err, models, std::regex("6 of 6 done, ([0-9,]+) models an hour\n$")))
        << ended.err;
    EXPECT_NE(models.str(1), "0") << "6 in 25 hours: " << ended.err;
    expect_same_contents(folder.path / "plain", folder.path / ("run" + shift));
    const auto all = trials("run" + shift);
    const std::string first = day_and_hour(all.front(), "start"), last = day_and_hour(all.back(), "end");
    EXPECT_TRUE(shift[0] == '-' ? last < first : last > first) << first << ' ' << last;
    for (const TrialRecord& t : all)
      for (const char* key : {"seconds_training", "seconds_evaluation", "seconds_data", "seconds_writing"}) {
        EXPECT_GE(number(t, key), 0) << key;
        EXPECT_LT(number(t, key), 3600) << key;
      }
  }
}

#endif

using SweepClockSlow = SweepClock;

/// Stopped for longer than a trial may take; what is late would be killed before a signal is looked at.
TEST_F(SweepClockSlow, ThatRunsWhileASweepIsStoppedMakesNoTrialLate) {
  const Ended ended =
      run("setsid $HEADLAB sweep a.toml --out run -j 2 --train.epochs 1000000 --trial-timeout 12s & p=$!; "
          "until $HEADLAB status run 2>/dev/null | grep -q 'running  2'; do kill -0 $p || exit 99; sleep "
          ".02; done; "
          "kill -STOP -- -$p; sleep 13; kill -CONT -- -$p; sleep .3; kill -TERM $p; wait $p; c=$?; "
          "$HEADLAB status run; exit $c");
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_TRUE(std::regex_search(ended.out, std::regex("failed +0\n"))) << ended.out;
  EXPECT_TRUE(std::regex_search(ended.out, std::regex("pending +6\n"))) << ended.out;
}

}  // namespace
}  // namespace headlab::test
