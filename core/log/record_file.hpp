#pragma once
// A trial file or a results.h5, whichever it is, wherever it comes from.
#include <functional>

#include "core/log/trial_file.hpp"

namespace headlab {

enum class Seal { required, may_be_missing };

/// Calls found(trial) for every trial of a trial file or a results.h5, in its order; returns whether it had a
/// seal. Without one, if that may be missing, HDF5 reads the file in a process of its own, where bytes that
/// make it crash harm nothing, and what is headlab's in it is taken: no columns of others. DamagedError, see
/// read_sealed, also if that process ended otherwise than well.
bool read_records(const std::filesystem::path& from, Seal seal,
                  const std::function<void(TrialRecord)>& found);

}  // namespace headlab
