// headlab sweep by several processes on one folder.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sweeps/claims.hpp"
#include "tests/support/sweep.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

struct SweepShared : TinySweep {
  SweepShared() { specify("train.steps_per_epoch = 2\n"); }
  /// Until so many trials run.
  static std::string until_running(int n) {
    return fmt::format("until $HEADLAB status run 2>/dev/null | grep -q 'running  {}'; do sleep .02; done; ",
                       n);
  }
};

using SweepSharedSlow = SweepShared;

TEST_F(SweepSharedSlow, ByTwentyGivesWhatOneGives) {
  const std::string sweep = "$HEADLAB sweep a.toml --seed 0:60 --train.epochs 3 --out ";
  const Ended ended = run("for i in $(seq 20); do " + sweep +
                          "run -j 1 2>err$i & p+=($!); done; for i in ${p[@]}; do wait $i || exit $?; done");
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (int i = 1; i <= 20; ++i)
    EXPECT_EQ(read_bytes(folder.path / fmt::format("err{}", i)).find("error"), std::string::npos) << i;
  EXPECT_EQ(run(sweep + "one -j 2").code, 0);
  expect_same_contents(folder.path / "run", folder.path / "one");
  EXPECT_EQ(status().at("done"), 60);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "run/attempts"));
}

TEST_F(SweepShared, TheOtherGoesOnFromACheckpointOfOneThatIsKilled) {
  const std::string sweep =
      "$HEADLAB sweep a.toml -j 1 --seed 3 --train.epochs 1500 --train.steps_per_epoch 50 "
      "--checkpoint-every 0.05s --out ";
  const Ended shared =
      run(sweep + "run 2>first & p=$!; until ls run/checkpoints/*.h5 2>/dev/null; do sleep .01; done; " +
          sweep + "run & q=$!; kill -STOP $p; sleep 1.5; kill -0 $q && kill -KILL $p; wait $q");
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_NE(shared.err.find(": goes on after step "), shared.err.npos) << shared.err;
  EXPECT_EQ(run(sweep + "undisturbed").code, 0);
  expect_same_contents(folder.path / "run", folder.path / "undisturbed");
}

TEST_F(SweepShared, StatusTellsWhatAllOfThemRun) {
  const Ended ended =
      run("S=\"$HEADLAB sweep a.toml --seed 0:3 --train.epochs 100000 --out run\"; "
          "$S -j 2 & p=$!; " +
          until_running(2) + "$S -j 1 & q=$!; " + until_running(3) +
          "$HEADLAB status run --json; $S -j 1 & r=$!; sleep .5; kill -TERM $r; wait $r; echo code $?; "
          "kill -TERM $p; wait $p; kill -TERM $q; wait $q; exit $?");
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_NE(ended.out.find("\"running\": 3,"), ended.out.npos) << ended.out;
  EXPECT_NE(ended.out.find("code 143\n"), ended.out.npos) << "it waited, and was stopped";
  EXPECT_EQ(status().at("running"), 0);
  EXPECT_EQ(status().at("failed"), 0);
}

TEST_F(SweepShared, MergeWantsItAlone) {
  ASSERT_EQ(run("$HEADLAB sweep a.toml --seed 0:2 --train.epochs 1 -j 1 --out run").code, 0);
  Claims sweep(folder.path / "run");
  ASSERT_TRUE(sweep.take("00ffee0000000001"));
  const Ended refused = run("$HEADLAB merge run");
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ(refused.err.find("error: run: another headlab process is working there"), 0U) << refused.err;
  sweep.release("00ffee0000000001");
  EXPECT_EQ(run("$HEADLAB merge run").code, 0);
}

TEST_F(SweepShared, AShardIsSharedAsAWholeSweepIs) {
  const std::string shard = "$HEADLAB sweep a.toml --seed 0:20 --train.epochs 3 -j 1 --out run --shard ";
  const Ended ended = run(shard + "0/2 & p=$!; " + shard + "0/2 & q=$!; " + shard +
                          "1/2 || exit 9; wait $p || exit 8; wait $q || exit 7; $HEADLAB merge run");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(run("$HEADLAB sweep a.toml --seed 0:20 --train.epochs 3 -j 2 --out one").code, 0);
  expect_same_contents(folder.path / "run", folder.path / "one");
}

}  // namespace
}  // namespace headlab::test
