#pragma once
// Trials that keep checkpoints of themselves and go on from the one they find. HDF5 runs in the thread that
// trains, so one thread of a process may do this at a time.
#include "core/base/duration.hpp"
#include "core/train/trainer.hpp"
#include "sweeps/worker.hpp"

namespace headlab {

inline constexpr Seconds checkpoint_every{600};

/// How a trial keeps its checkpoint.
struct Checkpointing {
  std::filesystem::path file;
  Seconds every = checkpoint_every;  ///< since the start or the last one
  /// The same for a trial that is stopped: what takes no longer to do again is not worth a file, which the
  /// widest models take seconds to write.
  Seconds worth{5};
  /// Is told, in a line, what the trial goes on from, and why one that is there is of no use or none could be
  /// written, which both end nothing.
  std::function<void(const std::string&)> note = [](const std::string& /*line*/) {};
};

/// Trains like train(), from the checkpoint in `file` on if there is one of this trial, made by this build
/// under this result_scheme on such a processor; any other one is left until the next replaces it. The file
/// stays when the trial is done: see forget_checkpoint().
Outcome checkpointed_training(const Keys& keys, const Config& config, Sink& sink,
                              const Checkpointing& checkpointing, const Tensors* parameters = nullptr);
/// The same for a trial of a sweep, which says nothing before its end.
TrialRecord checkpointed_training(const Keys& keys, const Config& config, const Stop& stop,
                                  const Checkpointing& checkpointing);

/// What besides the configuration the numbers of a trial of the calling thread depend on: program (its
/// SHA-256), processor, instruction set, oneDNN and result_scheme.
hdf5::Values checkpoint_maker();

/// Of a trial's steps, those that are still to be made from the checkpoint in the file on: 1 if it is of no
/// use to the calling thread, or not there.
double share_left(const PlannedTrial& trial, const std::filesystem::path& file);

/// FOLDER/<id>.h5; the folder of a sweep's checkpoints is DIR/checkpoints.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, const std::string& id);

/// Once the trial's own file is on the disk. Nothing if there is none.
void forget_checkpoint(const std::filesystem::path& file);

/// When a sweep starts: removes checkpoints of finished trials and what killed writers left. Nothing without
/// the folder.
void clean_checkpoints(const std::filesystem::path& folder,
                       const std::function<bool(const std::string& id)>& is_finished);

}  // namespace headlab
