// headlab sweep and the folder it finds: locked, complete, not to be written to, of another instruction set.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/sweep.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

struct SweepFolder : TinySweep {
  SweepFolder() { specify("train.steps_per_epoch = 2\ntrain.epochs = 1\n", "seed = [0, 1]\n"); }
  Ended sweep(const std::string& options = "") const {
    return run(fmt::format("$HEADLAB sweep a.toml --out run -j 1 {}", options));
  }
};

TEST_F(SweepFolder, CompleteNeedNotBeWrittenTo) {
  ASSERT_EQ(sweep().code, 0);
  std::filesystem::remove(folder.path / "run/claims");
  std::filesystem::create_directory(folder.path / "run/claims");  // for root, too, no folder to write to
  const auto plan = read_bytes(folder.path / "run/plan.json");
  const Ended complete = sweep("--model.layers 2");  // the default
  EXPECT_EQ(complete.code, 0) << complete.err;
  EXPECT_EQ(complete.out, "plan 2: 2 there, 0 new\n");
  EXPECT_EQ(read_bytes(folder.path / "run/plan.json"), plan);
  const Ended more = sweep("--seed 0,1,2");
  EXPECT_EQ(more.code, 2);
  EXPECT_NE(more.err.find("not a folder that results can be written to"), more.err.npos) << more.err;
}

TEST_F(SweepFolder, OfAnotherInstructionSetIsNoted) {
  const auto plan = plan_of("grid.seed = '0:3'");
  Store store(folder.path / "run");
  for (const PlannedTrial& t : plan.trials) {
    TrialRecord record = sample_record(t);
    if (t.config.seed < 2) record.provenance.emplace("instruction_set", std::string("x86-64-v9"));
    store.add(record);
    if (t.config.seed == 0) store.fold(plan, false);
  }
  const Ended first = sweep();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.err.find("note: run: 2 trials there were made with x86-64-v9, new ones are with x86-64-v"),
            0U)
      << first.err;
  EXPECT_EQ(sweep().err.find("x86-64"), std::string::npos) << "nothing new is made";
}

TEST_F(SweepFolder, SizeLimitsOfFilesStopTheSweepWithAMessage) {
  const Ended limited = run("ulimit -f 2; $HEADLAB sweep a.toml --out run -j 1");
  EXPECT_EQ(limited.code, 75);
  EXPECT_NE(limited.err.find(": File too large\n"), limited.err.npos) << limited.err;
  EXPECT_EQ(sweep().code, 0);
}

TEST_F(SweepFolder, IsForeseenInJsonAsInText) {
  ASSERT_EQ(sweep("--seed 1,7").code, 0);
  const auto all = nlohmann::json::parse(sweep("--dry-run --json --seed 0,1,2").out);
  EXPECT_EQ(all.at("version"), 1);
  const auto& s = all.at("sweep");
  const std::map<std::string, int> counts{{"points", 3},   {"excluded", 0}, {"planned", 3}, {"done", 1},
                                          {"diverged", 0}, {"failed", 0},   {"pending", 2}, {"others", 1},
                                          {"to_run", 2},   {"jobs", 1}};
  for (const auto& [name, n] : counts) EXPECT_EQ(s.at(name), n) << name;
  for (const char* name : {"operations", "core_seconds", "seconds", "disk_bytes", "memory_bytes"})
    EXPECT_GT(s.at(name), 0) << name;
  const std::string text = sweep("--dry-run --seed 0,1,2").out;
  ASSERT_EQ(s.at("trials").size(), 3U);
  for (const auto& trial : s.at("trials")) {
    const auto line =
        fmt::format("{} {:11} seed={}\n", trial.at("id").get<std::string>(),
                    trial.at("status").get<std::string>(), trial.at("axes").at("seed").get<int>());
    EXPECT_NE(text.find(line), text.npos) << line << text;
  }
}

TEST_F(SweepFolder, WithoutATitleIsCalledByItsName) {
  EXPECT_NE(sweep("--dry-run").out.find("\ntry\n2 points"), std::string::npos);
  ASSERT_EQ(sweep().code, 0);
  EXPECT_EQ(run("$HEADLAB status run").out.find("try\nplanned "), 0U);
}

TEST_F(SweepFolder, IsOneWithResults) {
  std::filesystem::create_directory(folder.path / "empty");
  for (const char* command : {"status empty", "list .", "show . ab", "status /", "status nowhere"}) {
    const Ended ended = run(fmt::format("$HEADLAB {}", command));
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_NE(ended.err.find(": not a folder with results\n"), ended.err.npos) << ended.err;
  }
  ASSERT_EQ(sweep().code, 0);
  std::filesystem::remove(folder.path / "run/results.h5");
  std::filesystem::remove_all(folder.path / "run/trials");
  EXPECT_EQ(run("$HEADLAB status run").code, 0) << "its plan is there";
}

}  // namespace
}  // namespace headlab::test
