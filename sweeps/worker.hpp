#pragma once
// The worker's side of a sweep: a process that trains one trial after another and writes each one's file.
#include <functional>

#include "core/log/trial_file.hpp"
#include "sweeps/plan.hpp"

namespace headlab {

/// Asked often by a trial; true: end as `interrupted`.
using Stop = std::function<bool()>;
/// What it throws ends that trial as `failed` with the message.
using RunTrial = std::function<TrialRecord(const PlannedTrial&, const Stop&)>;

/// Trains a trial, which says nothing before its end.
RunTrial silent_training(const Keys& keys);

/// Where a worker finds its end of the socket.
inline constexpr int worker_descriptor = 3;

/// All that a worker process does: it runs what the supervisor at worker_descriptor assigns, one trial or
/// folding after another, until that end is closed. It dies with the supervisor, and the kernel kills it
/// first when memory is short. ConfigError if it was not started by a supervisor.
int serve(const Keys& keys, const RunTrial& run);

}  // namespace headlab
