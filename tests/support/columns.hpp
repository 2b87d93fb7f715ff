#pragma once
#include <cmath>

#include "tests/support/record.hpp"

namespace headlab::test {

/// Two epochs, two lengths, the last value of one table missing.
inline TrialRecord small_trial() {
  TrialRecord t;
  t.id = "0123456789abcdef";
  t.status = Status::done;
  t.config = {{"model.dim", std::int64_t{8}},
              {"model.architecture", "nap"},
              {"train.learning_rate", 2.187e-4},
              {"eval.relative_lengths", std::vector{1., .5}},
              {"model.attention_gelu", true}};
  t.facts = {{"seconds", 1.23456}};
  t.provenance = {{"host", "here"}};
  t.relative_length = {.5, 1};
  t.step = {10, 20};
  t.train_loss = {2, 3};
  t.train_accuracy = {.25, std::nan("")};
  t.validation_accuracy = {.1, .2, .4, .3};
  t.validation_loss = {std::nan(""), 5, 4, 6};
  t.test_accuracy = {.6, .7};
  return t;
}

}  // namespace headlab::test
