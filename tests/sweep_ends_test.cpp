// What ends headlab sweep early: signals, limits, workers that are killed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sweeps/attempts.hpp"
#include "sweeps/claims.hpp"
#include "tests/support/sweep.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

struct SweepEnds : TinySweep {
  SweepEnds() { specify("train.steps_per_epoch = 1000\ntrain.epochs = 100_000\n", "seed = [0, 1, 2]\n"); }
  /// A sweep in a process group $p of its own, then `acts`, as soon as two trials run; its code.
  Ended begin_and(const std::string& acts, const std::string& options = "") const {
    return run(
        fmt::format("setsid $HEADLAB sweep a.toml --out run -j 2 {} & p=$!; "
                    "until $HEADLAB status run 2>/dev/null | grep -q 'running  2'; do kill -0 $p || exit 99; "
                    "sleep .02; done; {}; wait $p",
                    options, acts));
  }
};

TEST_F(SweepEnds, BySignalsWithACodeEach) {
  for (const auto& [signal, code] :
       std::map<std::string, int>{{"INT", 130}, {"TERM", 143}, {"HUP", 129}, {"USR1", 75}}) {
    const Ended ended = begin_and(fmt::format("kill -{} $p", signal));
    EXPECT_EQ(ended.code, code) << signal << ended.err;
    EXPECT_NE(ended.err.find("note: stopped early: the same command goes on from here\n"), ended.err.npos);
    EXPECT_EQ(status().at("pending"), 3);
    EXPECT_EQ(status().at("running"), 0);
    EXPECT_FALSE(std::filesystem::exists(folder.path / "run/attempts"));
  }
}

TEST_F(SweepEnds, ByASignalToAllOfItsProcessesAsByOne) {
  const Ended ended = begin_and("kill -TERM -- -$p");  // a shell's background jobs ignore SIGINT
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_EQ(status().at("failed"), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "run/attempts")) << "no worker has crashed";
}

TEST_F(SweepEnds, AtOnceByASecondSignal) {
  const Ended ended = begin_and(
      "pkill -STOP -P $p; kill -TERM $p; sleep .5; s=$SECONDS; kill -TERM $p; wait $p; c=$?; "
      "echo $((SECONDS - s > 4)); sleep .2; pgrep -g $p -r D,R,S,T; exit $c");
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_EQ(ended.out.substr(ended.out.find('\n') + 1), "0\n") << "no worker is left";
}

TEST_F(SweepEnds, KilledItTakesItsWorkersWithIt) {
  const Ended ended = begin_and("kill -KILL $p; wait $p; sleep .5; pgrep -g $p -r D,R,S,T");
  EXPECT_EQ(ended.out.substr(ended.out.find('\n') + 1), "") << "no worker is left";
  EXPECT_EQ(status().at("running"), 0);
}

/// Whatever its attempt says, whose process lives.
TEST_F(SweepEnds, ATrialThatNobodyHoldsDoesNotRun) {
  ASSERT_EQ(begin_and("kill -KILL $p").code, 137);
  const std::string id = status().at("pending_ids").at(0);
  Attempts(folder.path / "run").begin(id, getpid());
  EXPECT_EQ(status().at("running"), 0);
  Claims claims(folder.path / "run");
  EXPECT_TRUE(claims.take(id));
  EXPECT_EQ(status().at("running_ids"), nlohmann::json::array({id}));
}

TEST_F(SweepEnds, NotByAWorkerThatIsKilled) {
  const Ended ended = begin_and(
      "pkill -KILL -P $p; until [ $(cat run/attempts/* | grep -c 'crashes 1') = 2 ]; do kill -0 $p || exit "
      "99; sleep .02; done; "
      "kill -TERM $p");
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_EQ(status().at("failed"), 0);
  const Ended again =
      run("$HEADLAB sweep a.toml --out run -j 2 --trial-timeout 1s --only $(ls run/attempts | head -n 1)");
  EXPECT_EQ(again.code, 1);
  EXPECT_NE(again.err.find(": ended after 1s, the limit of --trial-timeout\n"), again.err.npos) << again.err;
}

TEST_F(SweepEnds, TrialsGoOnFromCheckpointsToTheSameBits) {
  const std::string sweep =
      "$HEADLAB sweep a.toml -j 1 --seed 3 --train.epochs 1500 --train.steps_per_epoch 50 --out ";
  const Ended disturbed = run(sweep +
                              "run --checkpoint-every 0.05s & p=$!; until ls run/checkpoints/*.h5 "
                              "2>/dev/null; do kill -0 $p || exit 99; sleep .01; done; "
                              "pkill -KILL -P $p; wait $p");
  EXPECT_EQ(disturbed.code, 0) << disturbed.err;
  EXPECT_NE(disturbed.err.find(": goes on after step "), disturbed.err.npos) << disturbed.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path / "run/checkpoints"));
  EXPECT_EQ(run(sweep + "undisturbed").code, 0);
  expect_same_contents(folder.path / "run", folder.path / "undisturbed");
}

TEST_F(SweepEnds, ByLimits) {
  const Ended time = run("$HEADLAB sweep a.toml --out run -j 2 --walltime 2s");
  EXPECT_EQ(time.code, 75);
  EXPECT_NE(time.err.find("note: stopped early"), time.err.npos) << time.err;
  EXPECT_EQ(status().at("pending"), 3);
  const Ended failures = run("$HEADLAB sweep a.toml --out run -j 1 --trial-timeout 0.5s --max-failures 1");
  EXPECT_EQ(failures.code, 1);
  EXPECT_NE(failures.err.find("error: stopped after 1 failed trials, as --max-failures says\n"),
            failures.err.npos)
      << failures.err;
  EXPECT_EQ(status().at("failed"), 1);
}

TEST_F(SweepEnds, NotByLimitsThatAreNone) {
  const Ended ended = run("$HEADLAB sweep a.toml --walltime 90 --trial-timeout soon --max-failures 0");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: --max-failures: 0 is not >= 1\n"
            "error: --trial-timeout: soon is not a duration, such as 90s, 90m, 2h or 1-12:00:00\n"
            "error: --walltime: 90 is not a duration, such as 90s, 90m, 2h or 1-12:00:00\n");
}

TEST_F(SweepEnds, WorkersAreStartedBySweepsAlone) {
  const Ended ended = run("$HEADLAB worker");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "error: worker: is started by headlab sweep only\n");
  EXPECT_EQ(run("$HEADLAB --help").out.find("worker"), std::string::npos);
}

using SweepEndsSlow = SweepEnds;

/// A chunk takes some tenths of a second, and a checkpoint is tens of megabytes.
TEST_F(SweepEndsSlow, WithinTheGraceOfASchedulerHoweverWideTheModel) {
  const Ended ended = begin_and(
      "until ls run/checkpoints/*.h5 >/dev/null 2>&1; do kill -0 $p || exit 99; sleep .02; done; "
      "s=$(date +%s%N); kill -TERM $p; wait $p; c=$?; echo $((($(date +%s%N) - s) / 1000000)) > took; exit "
      "$c",
      "--checkpoint-every 0.1s --model.dim 512 --model.heads 8 --task.length 128 --train.batch 128");
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_LT(std::stoi(run("cat took").out), 10'000) << "ms";
  EXPECT_EQ(status().at("pending"), 3);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path / "run/checkpoints")) << "it goes on from here";
}

}  // namespace
}  // namespace headlab::test
