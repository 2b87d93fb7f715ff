#include "experiments/provenance.hpp"

#include <gtest/gtest.h>

#include "tests/support/child.hpp"

namespace headlab::test {
namespace {

TEST(Provenance, HoldsTheCommandLineAsAShellReadsIt) {
  const std::vector<std::string> words{"--model.dim=8", "a b", "it's", "", "$HOME", "*"};
  const TemporaryFolder folder;
  EXPECT_EQ(shell("printf '[%s]' " + quoted(words), folder.path).out,
            "[--model.dim=8][a b][it's][][$HOME][*]");
}

TEST(Provenance, IsComplete) {
  CommandLine line;
  line.words = {"train", "--lr", "1"};
  const hdf5::Values all = provenance(line);
  EXPECT_EQ(std::get<std::string>(all.at("command_line")), "headlab train --lr 1");
  for (const char* name : {"version", "compiler", "host", "processor", "instruction_set", "onednn",
                           "onednn_instructions", "onednn_fpmath_mode", "hdf5"})
    EXPECT_FALSE(std::get<std::string>(all.at(name)).empty()) << name;
  for (const char* name : {"commit", "dirty", "threads", "flush_to_zero"})
    EXPECT_TRUE(all.contains(name)) << name;
}

}  // namespace
}  // namespace headlab::test
