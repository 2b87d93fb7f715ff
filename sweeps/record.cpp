#include "sweeps/record.hpp"

#include <fmt/chrono.h>

#include <chrono>

#include "core/config/write.hpp"

namespace headlab {

TrialRecord record_of(const Keys& keys, const Config& config, const Outcome& outcome) {
  TrialRecord record;
  static_cast<History&>(record) = outcome.history;
  record.id = id(keys, config);
  record.status = outcome.status;
  record.message = outcome.message;
  record.configuration = toml_text(keys, {config, {}, {}});
  for (const Key& key : keys)
    if (!key.inert(config)) record.config[key.name] = key.get(config);
  record.facts["result_scheme"] = result_scheme;
  if (outcome.status == Status::failed) return record;
  const auto& s = outcome.seconds;
  record.facts["parameters"] = outcome.parameters;
  record.facts["operations_per_step"] = outcome.operations_per_step;
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  record.facts["query_key_parameters"] = whole(outcome.query_key.parameters);
  record.facts["key_cache"] = whole(outcome.query_key.key_cache);
  record.facts["score_operations"] = whole(2 * outcome.query_key.scores);
  record.facts["chance_accuracy"] = outcome.chance_accuracy;
  record.facts["chance_accuracy_training"] = outcome.chance_accuracy_training;
  record.facts["seconds"] = s.training + s.evaluation + s.data;
  record.provenance["seconds_training"] = s.training;
  record.provenance["seconds_evaluation"] = s.evaluation;
  record.provenance["seconds_data"] = s.data;
  return record;
}

std::string timestamp() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace headlab
