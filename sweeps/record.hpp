#pragma once
// From what training returns to what is stored.
#include "core/config/keys.hpp"
#include "core/log/trial_file.hpp"
#include "core/train/trainer.hpp"

namespace headlab {

/// Raised when a release changes the numbers that a configuration gives.
inline constexpr std::int64_t result_scheme = 1;

/// With the configuration (id, TOML, keys that are not inert) and the facts; provenance is left to the
/// caller.
TrialRecord record_of(const Keys& keys, const Config& config, const Outcome& outcome);

/// Now, UTC, ISO 8601.
std::string timestamp();

}  // namespace headlab
