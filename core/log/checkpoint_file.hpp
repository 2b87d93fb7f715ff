#pragma once
// A checkpoint of a trial: what a trial file has of its finished epochs, the state between two steps as
// next_step, unfinished_*, seconds_*, and /value, /moment1, /moment2 with a dataset a parameter. Not
// compressed: floats of trained weights hardly are. 12 bytes a parameter and some KB.
#include "core/log/sealed_file.hpp"
#include "core/train/checkpoint.hpp"

namespace headlab {

struct CheckpointRecord : Checkpoint {
  std::string id;             ///< of the trial
  std::string configuration;  ///< TOML
  hdf5::Values maker;         ///< what else the trial's numbers depend on, attributes of the root
};

/// Atomically, and only if its bytes are on the disk.
void write_checkpoint(const std::filesystem::path& to, CheckpointRecord checkpoint);
/// DamagedError, see read_sealed.
CheckpointRecord read_checkpoint(const std::filesystem::path& from);
/// The same without parameters and moments.
CheckpointRecord read_checkpoint_head(const std::filesystem::path& from);

/// DamagedError, which names the first difference, if the checkpoint is not of that trial or was not made by
/// such a maker.
void require_made_for(const CheckpointRecord& checkpoint, const std::filesystem::path& path,
                      const std::string& id, const hdf5::Values& maker);

}  // namespace headlab
