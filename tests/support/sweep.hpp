#pragma once
#include <cmath>
#include <map>

#include "core/log/results_file.hpp"
#include "sweeps/record.hpp"
#include "sweeps/runner.hpp"
#include "tests/support/record.hpp"
#include "tests/support/scenarios.hpp"

namespace headlab::test {

inline const Keys& core_only() {
  static const Keys all = joined({core_keys()});
  return all;
}

inline SweepPlan plan_of(const std::string& axes, const Choice& choice = {}) {
  return make_plan(core_only(), read_specification(core_only(), "name = 'a'\n" + axes, "a.toml", choice));
}

/// As training would leave it: a pure function of the configuration.
inline Outcome sample_outcome(const Config& config) {
  Outcome o;
  const bool diverges = config.train.learning_rate > .5;
  o.status = diverges ? Status::diverged : Status::done;
  o.message = diverges ? "loss is NaN at step 1" : "";
  o.history.relative_length = config.eval.relative_lengths;
  for (std::int64_t e = 1; e <= config.train.epochs; ++e) {
    o.history.step.push_back(e * config.train.steps_per_epoch);
    o.history.train_loss.push_back(1. / static_cast<double>(e + config.model.dim + config.seed));
    for (const double length : config.eval.relative_lengths)
      o.history.validation_accuracy.push_back(std::sin(length + config.train.learning_rate));
  }
  o.parameters = config.model.dim;
  return o;
}
inline TrialRecord sample_record(const PlannedTrial& t) {
  return record_of(core_only(), t.config, sample_outcome(t.config));
}

inline RunOptions sample_options(std::vector<std::string> worker = scenario("fine"), int workers = 1) {
  return {.worker = std::move(worker),
          .cost = [](const Config& c) { return static_cast<double>(c.model.dim); },
          .workers = workers};
}

/// What results.h5 says of each trial, provenance and seconds aside.
inline std::map<std::string, TrialRecord> contents(const std::filesystem::path& folder) {
  std::map<std::string, TrialRecord> all;
  for (TrialRecord& t : read_results(folder / "results.h5").trials) {
    t.provenance.clear();
    t.facts.erase("seconds");
    all[t.id] = std::move(t);
  }
  return all;
}
inline void expect_same_contents(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto left = contents(a), right = contents(b);
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [id, t] : left) {
    ASSERT_TRUE(right.contains(id)) << id;
    EXPECT_TRUE(hdf5::identical(to_file(t), to_file(right.at(id)))) << id;
  }
}

}  // namespace headlab::test
