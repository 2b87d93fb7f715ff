#include "core/log/checkpoint_file.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/log/atomic_file.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

CheckpointRecord sample_checkpoint(std::size_t dim = 90) {
  const TrialRecord trial = sample_trial(0, 3);
  CheckpointRecord c;
  c.id = trial.id;
  c.configuration = trial.configuration;
  c.maker = {{"result_scheme", std::int64_t{1}}, {"instruction_set", "x86-64-v3"}, {"flush_to_zero", true}};
  c.step = 345;
  float next = 0;
  for (Tensors* block : {&c.value, &c.moment1, &c.moment2})
    for (const char* name : {"embedding.token", "layer0.attention.query.weight", "readout.bias"}) {
      Array<float> a{{name[0] == 'r' ? 1 : dim, dim}, std::vector<float>(name[0] == 'r' ? dim : dim * dim)};
      for (float& x : a.elements) x = std::sin(++next) * 1e-3F;
      (*block)[name] = std::move(a);
    }
  c.unfinished = {1.25, .5, 1. / 3};
  c.history = static_cast<const History&>(trial);
  c.history.test_loss.clear();
  c.history.test_accuracy.clear();
  c.seconds = {1.5, 2.5, 3.5};
  return c;
}

std::string refusal(const std::filesystem::path& file) try {
  read_checkpoint(file);
  return "none";
} catch (const DamagedError& e) {
  return std::string(e.what()).substr(file.native().size());
}

void expect_same(const CheckpointRecord& a, const CheckpointRecord& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.configuration, b.configuration);
  EXPECT_EQ(a.maker, b.maker);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.moment1, b.moment1);
  EXPECT_EQ(a.moment2, b.moment2);
  EXPECT_EQ(a.unfinished, b.unfinished);
  EXPECT_EQ(a.seconds.training, b.seconds.training);
  EXPECT_EQ(a.seconds.evaluation, b.seconds.evaluation);
  EXPECT_EQ(a.seconds.data, b.seconds.data);
  TrialRecord x, y;
  static_cast<History&>(x) = a.history;
  static_cast<History&>(y) = b.history;
  EXPECT_TRUE(hdf5::identical(to_file(x), to_file(y)));
  EXPECT_EQ(a.history.test_loss.size(), b.history.test_loss.size());
}

struct CheckpointFile : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path file = folder.path / "checkpoints" / "c.h5";
};

TEST_F(CheckpointFile, ReturnsTheCheckpoint) {
  const CheckpointRecord c = sample_checkpoint();
  write_checkpoint(file, c);
  expect_same(read_checkpoint(file), c);
  CheckpointRecord first = c;  // before the end of the first epoch
  first.history = {};
  first.history.relative_length = c.history.relative_length;
  first.history.case_length = c.history.case_length;
  first.history.case_name = c.history.case_name;
  first.value["readout.bias"].elements[0] = -0.F;
  write_checkpoint(file, first);
  CheckpointRecord again = read_checkpoint(file);
  expect_same(again, first);
  EXPECT_EQ(again.history.case_name, c.history.case_name);
  EXPECT_TRUE(std::signbit(again.value["readout.bias"].elements[0]));
}

TEST_F(CheckpointFile, TakesTwelveBytesAParameter) {
  for (const std::size_t dim : {8UL, 90UL, 500UL}) {
    write_checkpoint(file, sample_checkpoint(dim));
    const auto floats = std::uintmax_t(3 * (2 * dim * dim + dim));
    EXPECT_GE(file_size(file), 4 * floats);
    EXPECT_LE(file_size(file), 4 * floats + 40'000) << dim;
  }
}

TEST_F(CheckpointFile, IsRefusedOnceTruncatedOrChanged) {
  write_checkpoint(file, sample_checkpoint());
  const std::string bytes = read_bytes(file);
  for (std::size_t i = 0; i < 20; ++i) {
    write_quickly(file, bytes.substr(0, i * bytes.size() / 20));
    EXPECT_NE(refusal(file), "none") << i;
  }
  for (std::size_t i = 0; i < 200; ++i) {  // in every part
    std::string changed = bytes;
    changed[i * (bytes.size() - 1) / 199] ^= 1;
    write_quickly(file, changed);
    EXPECT_NE(refusal(file), "none") << i;
  }
  write_quickly(file, bytes);
  EXPECT_EQ(refusal(file), "none");
}

TEST_F(CheckpointFile, IsNoOtherFile) {
  write_trial(file, sample_trial(0));
  EXPECT_EQ(refusal(file), ": must be headlab-checkpoint, is \"headlab-trial\"");
  write_sealed(file, {"headlab-checkpoint", 2}, {});
  EXPECT_TRUE(refusal(file).starts_with(": headlab-checkpoint of version 2; ")) << refusal(file);
  write_sealed(file, {"headlab-checkpoint", 1}, {});
  EXPECT_EQ(refusal(file), ": something is missing in it");
}

std::string difference(const CheckpointRecord& c, const std::string& id, const hdf5::Values& maker) try {
  require_made_for(c, "c.h5", id, maker);
  return "none";
} catch (const DamagedError& e) {
  return e.what();
}

TEST_F(CheckpointFile, IsForItsTrialAndMakerAlone) {
  write_checkpoint(file, sample_checkpoint());
  const CheckpointRecord c = read_checkpoint(file);
  EXPECT_EQ(difference(c, c.id, c.maker), "none");
  EXPECT_EQ(difference(c, "0123456789abcdef", c.maker),
            "c.h5: its trial is " + c.id + ", must be 0123456789abcdef");
  const auto with = [&](const std::string& key, const hdf5::Value& value) {
    hdf5::Values maker = c.maker;
    maker[key] = value;
    return difference(c, c.id, maker);
  };
  EXPECT_EQ(with("instruction_set", "x86-64-v4"),
            "c.h5: its instruction_set is x86-64-v3, must be x86-64-v4");
  EXPECT_EQ(with("result_scheme", std::int64_t{2}), "c.h5: its result_scheme is 1, must be 2");
  EXPECT_EQ(with("flush_to_zero", false), "c.h5: its flush_to_zero is true, must be false");
  EXPECT_EQ(with("program", "ab"), "c.h5: its program is nothing, must be ab");
  EXPECT_EQ(difference(c, c.id, {{"result_scheme", std::int64_t{1}}, {"instruction_set", "x86-64-v3"}}),
            "c.h5: its flush_to_zero is true, must be nothing");
}

}  // namespace
}  // namespace headlab::test
