// headlab sweep, real trainings, of which a worker or the sweep itself is killed at random moments.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "sweeps/attempts.hpp"
#include "tests/support/process.hpp"
#include "tests/support/runner.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

/// That of --gtest_random_seed, or another one each time.
unsigned seed_of_storm() {
  constexpr unsigned most = 99999;  // that GoogleTest takes
  const auto given = static_cast<unsigned>(GTEST_FLAG_GET(random_seed));
  return given != 0 ? given : std::random_device{}() % most + 1;
}

struct SweepStorm : TinySweep {
  const std::filesystem::path shaken = folder.path / "shaken";
  const unsigned seed = seed_of_storm();
  std::mt19937 random{seed};
  int trials = 60;                          ///< planned; more as soon as these are done
  std::map<std::string, std::string> ends;  ///< of finished trials: when they were first seen to be, by id

  SweepStorm() {
    fmt::print("repeat with --gtest_random_seed={}\n", seed);
    specify("train.steps_per_epoch = 100\ntrain.epochs = 10\n");
  }
  Process sweep(const std::filesystem::path& out) const {
    return {program(),
            {"headlab", "sweep", folder.path / "a.toml", "--seed", fmt::format("0:{}", trials), "-j", "2",
             "--checkpoint-every", "0.1s", "--out", out},
            folder.path / "said"};
  }
  /// Some worker that runs a trial, if there is one.
  pid_t some_worker() {
    std::vector<pid_t> alive;
    for (const auto& [id, attempt] : read_attempts(shaken))
      if (is_alive(attempt)) alive.push_back(attempt.process);
    return alive.empty() ? 0 : alive[random() % alive.size()];
  }
  /// What is reported done is readable, by others, too, and is what it was when it was first reported.
  void look() {
    EXPECT_TRUE(await_no_worker(shaken));
    const Store store(shaken);
    EXPECT_EQ(store.damaged(), std::vector<std::string>{});
    std::size_t there = 0;
    for (const auto& [id, known] : store.trials()) {
      if (!finished(known.status)) continue;
      ++there;
      EXPECT_FALSE(known.end.empty()) << id;
      EXPECT_EQ(ends.emplace(id, known.end).first->second, known.end) << id << " was trained twice";
    }
    EXPECT_EQ(there, ends.size()) << "nothing finished is lost";
    const Ended read = shell(
        "for f in shaken/results.h5 $(find shaken -path '*trials/*.h5' 2>/dev/null); do "
        "[ ! -e $f ] || h5dump $f >dump || echo $f; done",
        folder.path);
    EXPECT_EQ(read.out + read.err, "") << "h5dump cannot read these";
  }
  /// One kill at a random moment; of a sweep that has ended before, one goes on with more trials.
  void blow(Process& running) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 600));
    if (running.has_ended()) {
      const int code = running.wait();
      EXPECT_TRUE(code == 0 || code == 1) << code;
      if (code == 0) trials += 20;
      running = sweep(shaken);
      return blow(running);
    }
    if (const pid_t worker = some_worker(); worker > 0 && random() % 2 == 0) {
      ::kill(worker, SIGKILL);
    } else {
      running.kill();
      look();
      running = sweep(shaken);
    }
  }
  void rage(int blows) {
    Process running = sweep(shaken);
    for (int i = 0; i < blows && !HasFailure(); ++i) blow(running);
    running.kill();
    look();
    int code = 1;
    for (int i = 0; i < 4 && code == 1; ++i) code = sweep(shaken).wait();  // what was killed twice has failed
    EXPECT_EQ(code, 0) << read_bytes(folder.path / "said");
    look();
    EXPECT_EQ(ends.size(), static_cast<std::size_t>(trials));
    EXPECT_EQ(sweep(folder.path / "undisturbed").wait(), 0);
    expect_same_contents(shaken, folder.path / "undisturbed");
  }
};
using SweepStormSlow = SweepStorm;
using SweepStormLong = SweepStorm;

TEST_F(SweepStormSlow, OfFiveKillsLosesNothingAndRepeatsNothing) { rage(5); }
TEST_F(SweepStormLong, OfFiftyKillsLosesNothingAndRepeatsNothing) { rage(50); }

}  // namespace
}  // namespace headlab::test
