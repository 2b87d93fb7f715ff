#pragma once
// Results of several folders, as of the shards of a sweep, in one results.h5.
#include "core/log/record_file.hpp"
#include "core/log/results_file.hpp"
#include "sweeps/store.hpp"

namespace headlab {

/// A folder's or a single file's trials.
struct MergeSource {
  std::filesystem::path path;
  std::int64_t trials = 0;  ///< found there
  std::int64_t added = 0;   ///< of those, what was nowhere before
};

struct Merge {
  std::filesystem::path folder;                ///< whose results.h5 is written
  std::vector<std::filesystem::path> sources;  ///< folders or files; the folder itself is the first anyway
  Seal seal = Seal::required;
  bool partial = false;  ///< go on though planned trials are nowhere
  Bounds bounds{};
};

struct Merged {
  std::vector<MergeSource> sources;
  std::vector<std::string> notes;
  std::vector<std::string> faults;  ///< a line each that names the file; if there are any, nothing is written
};

/// Reads all sources, writes results.h5 in the plan's order if nothing is wrong, and removes the folder's own
/// trial files that it then holds; sources are left alone. Wrong are: files that are damaged, foreign, newer
/// or of another result_scheme; two finished records of one trial with other results; without a seal, a trial
/// whose id is not that of its configuration; planned trials that are nowhere or unfinished, unless
/// `partial`. The caller holds a FolderLock. ConfigError if there is nothing at all.
Merged merge(const Keys& keys, const Merge& asked, const SweepPlan& plan);

}  // namespace headlab
