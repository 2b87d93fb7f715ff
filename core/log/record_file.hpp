#pragma once
// A trial file or a results.h5, whichever it is, wherever it comes from.
#include <functional>

#include "core/log/trial_file.hpp"

namespace headlab {

enum class Seal { required, may_be_missing };

/// The trials of a file, in its order; rows near each other are read at once.
struct RecordFile {
  bool sealed = true;
  std::size_t size = 0;
  std::function<TrialRecord(std::size_t row)> record;  ///< DamagedError, see read_sealed
  std::function<std::vector<std::string>()> ids;       ///< of a results.h5
};

/// A trial file or a results.h5. Without a seal, if that may be missing, HDF5 reads it in a process of its
/// own, where bytes that make it crash harm nothing, and what is headlab's in it is taken: no columns of
/// others. DamagedError, see read_sealed, also if that process ended otherwise than well. At most `block`
/// rows of a results.h5 are in memory.
RecordFile open_records(const std::filesystem::path& from, Seal seal, std::size_t block = 256);

/// A results.h5 alone. DamagedError, see read_sealed.
RecordFile open_results(const std::filesystem::path& from, std::size_t block = 256);

}  // namespace headlab
