#pragma once
// Training of one trial: no console and no files, all goes out through a Sink.
#include <optional>

#include "core/config/config.hpp"
#include "core/model/operations.hpp"
#include "core/train/checkpoint.hpp"

namespace headlab {

/// Who watches a trial.
class Sink {
 public:
  virtual ~Sink() = default;
  /// After each epoch and its evaluation; the newest epoch is the last of each table.
  virtual void epoch(const History& /*so_far*/) {}
  /// Before the first step (epoch 0) and once the steps of an epoch are made.
  virtual void trained(std::int64_t /*epoch*/, Parameters& /*now*/) {}
  /// Asked before every chunk; true ends the trial as `interrupted`.
  virtual bool stop() { return false; }
  /// Asked after every step and, when stop() has ended the trial, a last time; true: checkpoint() comes next.
  virtual bool wants_checkpoint() { return false; }
  virtual void checkpoint(Checkpoint&& /*now*/) {}
};

/// What a trial ends in. An exception of the trial's own ends it as `failed`, see the runner.
struct Outcome {
  Status status = Status::failed;  ///< done, diverged (message: at which step) or interrupted
  std::string message;
  History history;
  std::int64_t parameters{}, operations_per_step{};  ///< operations: multiply-adds count as two
  QueryKeyCosts query_key;
  double chance_accuracy{}, chance_accuracy_training{};  ///< in evaluation; in training, with case_bias
  TimeSpent seconds;
};

/// Trains, evaluates, tests; starts with these parameters, those of init.source, or as initialise() makes
/// them, or goes on from a checkpoint of this configuration, to the same bits as without one, if the same
/// build on the same model of processor made it. ConfigError if the configuration cannot be built, the
/// parameters or the checkpoint are not of it, or init.source is set without parameters. One trial is one
/// thread: call under dnn::single_threaded() (core/dnn/threads.hpp).
Outcome train(const Config& config, Sink& sink, std::optional<Checkpoint> from = {},
              const Tensors* parameters = nullptr);

}  // namespace headlab
