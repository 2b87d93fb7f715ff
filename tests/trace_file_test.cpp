#include "core/log/trace_file.hpp"

#include <gtest/gtest.h>

#include "core/log/atomic_file.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

TEST(TraceFile, ReturnsTheTrace) {
  const TemporaryFolder folder;
  const TraceRecord trace = sample_trace();
  write_trace(folder.path / "t.h5", trace);
  const TraceRecord again = read_trace(folder.path / "t.h5");
  EXPECT_EQ(again.config, trace.config);
  EXPECT_EQ(again.provenance, trace.provenance);
  EXPECT_EQ(again.initial, trace.initial);
  EXPECT_EQ(again.final, trace.final);
  EXPECT_EQ(again.steps.tokens, trace.steps.tokens);
  EXPECT_EQ(again.steps.labels, trace.steps.labels);
  EXPECT_EQ(again.steps.loss, trace.steps.loss);
  EXPECT_EQ(again.steps.learning_rate, trace.steps.learning_rate);
  EXPECT_EQ(again.steps.gradient_norm, trace.steps.gradient_norm);
  EXPECT_EQ(again.first.logits, trace.first.logits);
  EXPECT_EQ(again.first.gradients, trace.first.gradients);
  ASSERT_EQ(again.evaluation.size(), 2u);
  for (const auto& [length, evaluation] : trace.evaluation) {
    EXPECT_EQ(again.evaluation.at(length).tokens, evaluation.tokens);
    EXPECT_EQ(again.evaluation.at(length).labels, evaluation.labels);
    EXPECT_EQ(again.evaluation.at(length).logits, evaluation.logits);
  }
}

TEST(TraceFile, RefusesTablesThatDoNotFit) {
  const TemporaryFolder folder;
  TraceRecord shape = sample_trace(), steps = sample_trace();
  shape.first.logits.shape = {3, 5};
  EXPECT_THROW(write_trace(folder.path / "t.h5", shape), std::logic_error);
  steps.steps.gradient_norm.pop_back();
  EXPECT_THROW(write_trace(folder.path / "t.h5", steps), std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(folder.path / "t.h5"));
}

TEST(TraceFile, IsRefusedIfSomethingIsMissing) {
  const TemporaryFolder folder;
  write_sealed(folder.path / "t.h5", {"headlab-trace", 1}, {});
  EXPECT_THROW(read_trace(folder.path / "t.h5"), DamagedError);
}

}  // namespace
}  // namespace headlab::test
