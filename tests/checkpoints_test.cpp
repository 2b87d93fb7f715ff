#include "sweeps/checkpoints.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/config/write.hpp"
#include "core/log/checkpoint_file.hpp"
#include "tests/support/child.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

struct CheckpointedTraining : testing::Test {
  TemporaryFolder folder;
  Keys keys = joined({core_keys()});
  Config config = configuration({{"model.dim", "8"},
                                 {"model.heads", "2"},
                                 {"task.length", "12"},
                                 {"train.batch", "5"},
                                 {"train.steps_per_epoch", "5"},
                                 {"train.epochs", "3"},
                                 {"eval.sequences", "10"},
                                 {"eval.case_sequences", "30"},
                                 {"eval.test_sequences", "10"}});
  std::filesystem::path file = checkpoint_path(folder.path / "checkpoints", id(keys, config));
  std::vector<std::string> notes;
  Checkpointing at_every_step{file, Seconds(0), Seconds(0),
                              [this](const std::string& line) { notes.push_back(line); }};

  static Stop never() {
    return [] { return false; };
  }
  static Stop after(int questions) {
    return [left = std::make_shared<int>(questions)] { return --*left < 0; };
  }
  TrialRecord go(const Stop& stop, const Checkpointing& how) const {
    return checkpointed_training(keys, config, stop, how);
  }
  std::int64_t step() const { return read_checkpoint(file).step; }
  static hdf5::File numbers(TrialRecord t) {  // all but times
    t.provenance.clear();
    t.facts.erase("seconds");
    return to_file(t);
  }
};

TEST_F(CheckpointedTraining, GoesOnFromItsFile) {
  const TrialRecord whole = go(never(), {folder.path / "none.h5"});
  EXPECT_FALSE(std::filesystem::exists(folder.path / "none.h5"));
  EXPECT_EQ(go(after(8), at_every_step).status, Status::interrupted);
  EXPECT_TRUE(notes.empty());
  const std::int64_t first = step();
  EXPECT_GE(first, 3);
  EXPECT_EQ(go(after(12), at_every_step).status, Status::interrupted);
  EXPECT_GT(step(), first);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], fmt::format("trial {}: goes on after step {}", whole.id, first));
  const TrialRecord t = go(never(), at_every_step);
  EXPECT_EQ(t.status, Status::done);
  EXPECT_TRUE(hdf5::identical(numbers(t), numbers(whole)));
  EXPECT_EQ(step(), 15) << "stays until it is forgotten";
  forget_checkpoint(file);
  forget_checkpoint(file);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(CheckpointedTraining, TellsWhatIsLeftOfATrial) {
  const PlannedTrial trial{id(keys, config), config};
  EXPECT_EQ(share_left(trial, file), 1);
  go(after(8), at_every_step);
  EXPECT_DOUBLE_EQ(share_left(trial, file), 1 - static_cast<double>(step()) / 15);
  EXPECT_LT(share_left(trial, file), .9);
  EXPECT_EQ(share_left({"0123456789abcdef", config}, file), 1) << "of another trial";
  write_quickly(file, "no checkpoint");
  EXPECT_EQ(share_left(trial, file), 1);
}

/// More than what is read at once.
TEST_F(CheckpointedTraining, GoesOnFromALargeFile) {
  config.model.dim = config.model.query_key_dim = 128;
  config.model.feed_forward = 512;
  const TrialRecord whole = go(never(), {folder.path / "none.h5"});
  go(after(8), at_every_step);
  EXPECT_GT(std::filesystem::file_size(file), 4'000'000U);
  EXPECT_LT(share_left({whole.id, config}, file), .9);
  EXPECT_TRUE(hdf5::identical(numbers(go(never(), at_every_step)), numbers(whole)));
  std::filesystem::resize_file(file, 3'000'000);
  EXPECT_THROW(read_checkpoint(file), DamagedError);
}

TEST_F(CheckpointedTraining, TakesItsTime) {
  Checkpointing seldom = at_every_step;
  seldom.every = seldom.worth = Seconds(1000);
  EXPECT_EQ(go(after(8), seldom).status, Status::interrupted);
  EXPECT_FALSE(std::filesystem::exists(file)) << "too young";
  seldom.worth = Seconds(.2);
  const Stop slow = [asked = 0]() mutable {
    std::this_thread::sleep_for(Seconds(.05));
    return ++asked > 8;
  };
  go(slow, seldom);
  EXPECT_GE(step(), 3) << "stopped when old enough";
  forget_checkpoint(file);
  seldom.worth = Seconds(1000), seldom.every = Seconds(.2);
  const Stop slower = [asked = 0]() mutable {
    std::this_thread::sleep_for(Seconds(.07));
    return ++asked > 8;
  };
  go(slower, seldom);
  EXPECT_GE(step(), 2) << "after .2 s";
}

TEST_F(CheckpointedTraining, BeginsAnewWithoutAUsefulOne) {
  const TrialRecord whole = go(never(), {folder.path / "none.h5"});
  go(after(8), at_every_step);
  const std::string good = read_bytes(file);
  const auto expect_anew = [&](const std::string& why) {
    notes.clear();
    Checkpointing seldom = at_every_step;
    seldom.every = Seconds(1000);
    EXPECT_TRUE(hdf5::identical(numbers(go(never(), seldom)), numbers(whole)));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(
        notes[0].starts_with(fmt::format("trial {}: begins anew: {}: {}", whole.id, file.native(), why)))
        << notes[0];
  };
  write_quickly(file, good.substr(0, good.size() / 2));
  expect_anew("has no seal");
  write_quickly(file, good);
  const auto with = [&](const std::string& key, const hdf5::Value& value) {
    CheckpointRecord c = read_checkpoint(file);
    c.maker[key] = value;
    write_checkpoint(file, std::move(c));
  };
  with("program", "other");
  expect_anew("its program is other, must be ");
  write_quickly(file, good);
  with("instruction_set", "x86-64-v9");
  expect_anew("its instruction_set is x86-64-v9, must be x86-64-v");
  write_quickly(file, good);
  with("result_scheme", std::int64_t{0});
  expect_anew("its result_scheme is 0, must be 1");
  config.seed = 1;
  EXPECT_EQ(go(never(), at_every_step).status, Status::done);
  EXPECT_NE(notes.back().find(": its trial is " + whole.id + ", must be "), std::string::npos)
      << notes.back();
}

TEST_F(CheckpointedTraining, GoesOnWhereNoneCanBeWritten) {
  write_quickly(folder.path / "checkpoints", "no folder");
  EXPECT_EQ(go(never(), at_every_step).status, Status::done);
  ASSERT_EQ(notes.size(), 15U);
  EXPECT_NE(notes[0].find(": goes on without a checkpoint: "), std::string::npos) << notes[0];
}

TEST(Checkpoints, OfFinishedTrialsAreCleanedAway) {
  const TemporaryFolder folder;
  clean_checkpoints(folder.path / "none", [](const std::string&) { return true; });
  for (const char* name : {"aa.h5", "bb.h5", "cc.h5.999999999.tmp", "aa.txt"})
    write_quickly(folder.path / name, "x");
  clean_checkpoints(folder.path, [](const std::string& trial) { return trial == "aa"; });
  EXPECT_FALSE(std::filesystem::exists(folder.path / "aa.h5"));
  EXPECT_TRUE(std::filesystem::exists(folder.path / "bb.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder.path / "cc.h5.999999999.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder.path / "aa.txt"));
}

}  // namespace
}  // namespace headlab::test
