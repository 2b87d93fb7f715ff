#pragma once
// Who runs which trial of a folder, among the processes of one host: locks on bytes of DIR/claims. They are
// open-file-description locks, which the kernel frees when their holder dies, however it dies. The file stays
// empty; while sweeps run it must not be removed, since those that start later would not see their locks.
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace headlab {

/// Makes DIR and DIR/claims. ConfigError if nothing can be written there, or if its file system has no such
/// locks.
class ClaimsFile {
 public:
  explicit ClaimsFile(const std::filesystem::path& folder);
  ClaimsFile(const ClaimsFile&) = delete;
  ClaimsFile& operator=(const ClaimsFile&) = delete;
  ~ClaimsFile();  ///< frees its locks, unless a process that shares the descriptor still lives

  /// Closed by exec; 10 or greater.
  int descriptor() const { return descriptor_; }
  /// Locks bytes without waiting; false if another ClaimsFile, of any process, holds one of them.
  bool lock(std::int64_t start, std::int64_t length) const;
  void unlock(std::int64_t start, std::int64_t length) const;
  /// DamagedError if others who open the file now would have another one, or none.
  void require_in_place() const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Trials that this process runs, or keeps from others. A trial's byte is its id, a number of 64 bits,
/// mod 2^62; of the trials of one folder two would have the same one by a chance of 1e-11 among 10,000.
class Claims {
 public:
  explicit Claims(const std::filesystem::path& folder) : file_(folder) {}

  /// Whether the trial is this process's now; it may have been before.
  bool take(const std::string& id);
  void release(const std::string& id);
  const std::set<std::string>& held() const { return held_; }
  /// DamagedError if DIR/claims has been removed: others would not see this process's claims.
  void require_in_place() const { file_.require_in_place(); }

 private:
  ClaimsFile file_;
  std::set<std::string> held_;
};

/// Held by whoever writes results.h5 and removes trials' own files; at most one process does.
class FoldLock {
 public:
  explicit FoldLock(const std::filesystem::path& folder) : file_(folder) {}

  bool take() const;
  void release() const;
  /// The process that folds keeps it open, so that the lock lasts until it, too, has ended.
  int descriptor() const { return file_.descriptor(); }

 private:
  ClaimsFile file_;
};

/// All trials and the folding at once, for what must have the folder to itself. DamagedError if others still
/// work there after a second or so.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  ClaimsFile file_;
};

/// Those of the trials that some ClaimsFile holds at the moment; none if there is no DIR/claims.
std::vector<std::string> claimed(const std::filesystem::path& folder, const std::vector<std::string>& ids);

/// Removes temporary files that killed writers left in DIR and DIR/trials.
void remove_all_leftovers(const std::filesystem::path& folder);

}  // namespace headlab
