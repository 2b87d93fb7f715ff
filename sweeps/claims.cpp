#include "sweeps/claims.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/sealed_file.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

constexpr std::int64_t fold_byte = std::int64_t{1} << 62;  // after those of all trials
constexpr std::int64_t test_byte = fold_byte + 1;

path claims_in(const path& folder) { return folder / "claims"; }

/// What is no id, as a file of somebody's in the folder, has byte 0.
std::int64_t byte_of(const std::string& id) {
  constexpr int hexadecimal = 16;
  std::uint64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number, hexadecimal);
  return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(fold_byte));
}

struct flock range(int type, std::int64_t start, std::int64_t length) {
  struct flock l{};
  l.l_type = static_cast<short>(type);
  l.l_whence = SEEK_SET;
  l.l_start = start;
  l.l_len = length;
  return l;
}

/// 0, or the error; a system call that a signal interrupts is made again.
int set_lock(int descriptor, struct flock l) {
  while (::fcntl(descriptor, F_OFD_SETLK, &l) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

constexpr bool is_taken(int error) { return error == EAGAIN || error == EACCES; }

/// Opened above what workers find at fixed numbers.
int open_above(const path& file, int flags) {
  constexpr int lowest = 10;
  const int low = ::open(file.c_str(), flags | O_CLOEXEC, 0666);
  if (low < 0) return low;
  const int high = ::fcntl(low, F_DUPFD_CLOEXEC, lowest), error = errno;
  ::close(low);
  errno = error;
  return high;
}

using Range = std::pair<std::int64_t, std::int64_t>;  // [start, end)

/// Locked parts of a range, in any order: the kernel tells one of them at a time.
void find_locked(int descriptor, Range in, std::vector<Range>& found) {
  if (in.first >= in.second) return;
  struct flock l = range(F_WRLCK, in.first, in.second - in.first);
  if (::fcntl(descriptor, F_OFD_GETLK, &l) < 0 || l.l_type == F_UNLCK) return;
  const std::int64_t start = std::max<std::int64_t>(l.l_start, in.first);
  const std::int64_t end = l.l_len == 0 ? in.second : std::min<std::int64_t>(l.l_start + l.l_len, in.second);
  found.emplace_back(start, end);
  find_locked(descriptor, {in.first, start}, found);
  find_locked(descriptor, {end, in.second}, found);
}

}  // namespace

ClaimsFile::ClaimsFile(const path& folder) : path_(claims_in(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) {
    descriptor_ = open_above(path_, O_RDWR | O_CREAT);
    if (descriptor_ < 0) error.assign(errno, std::generic_category());
  }
  if (no_space(error)) throw std::system_error(error, path_.native() + ": cannot open");
  require(!error, "{:?}: not a folder that results can be written to: {}", folder.native(), error.message());
  try {
    lock(test_byte, 1);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  unlock(test_byte, 1);
}
ClaimsFile::~ClaimsFile() { ::close(descriptor_); }

bool ClaimsFile::lock(std::int64_t start, std::int64_t length) const {
  const int error = set_lock(descriptor_, range(F_WRLCK, start, length));
  if (is_taken(error)) return false;
  require(error == 0,
          "{}: this file system gives no locks on parts of a file ({}), by which processes share a folder: "
          "choose an --out on another one",
          path_.native(), std::generic_category().message(error));
  return true;
}
void ClaimsFile::require_in_place() const {
  struct stat own{};
  if (::fstat(descriptor_, &own) == 0 && own.st_nlink == 0)
    throw DamagedError(fmt::format("{}: removed while a sweep uses it: run the sweep again", path_.native()));
}
void ClaimsFile::unlock(std::int64_t start, std::int64_t length) const {
  set_lock(descriptor_, range(F_UNLCK, start, length));
}

bool Claims::take(const std::string& id) {
  if (held_.contains(id)) return true;
  if (!file_.lock(byte_of(id), 1)) return false;
  held_.insert(id);
  return true;
}
void Claims::release(const std::string& id) {
  if (held_.erase(id) > 0) file_.unlock(byte_of(id), 1);
}

bool FoldLock::take() const { return file_.lock(fold_byte, 1); }
void FoldLock::release() const { file_.unlock(fold_byte, 1); }

FolderLock::FolderLock(const path& folder) : file_(folder) {
  constexpr std::chrono::milliseconds pause{100};  // who waits for a trial holds it for a moment now and then
  for (int tries = 15; !file_.lock(0, fold_byte + 1); std::this_thread::sleep_for(pause))
    if (--tries == 0)
      throw DamagedError(
          fmt::format("{}: another headlab process is working there; `headlab status {}` tells "
                      "how many trials run",
                      folder.native(), folder.native()));
}

std::vector<std::string> claimed(const path& folder, const std::vector<std::string>& ids) {
  std::vector<std::string> all;
  const int descriptor = ::open(claims_in(folder).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return all;
  std::vector<Range> locked;
  find_locked(descriptor, {0, fold_byte}, locked);
  ::close(descriptor);
  std::ranges::sort(locked);
  for (const std::string& id : ids) {
    const auto after = std::ranges::upper_bound(locked, byte_of(id), {}, &Range::first);
    if (after != locked.begin() && byte_of(id) < std::prev(after)->second) all.push_back(id);
  }
  return all;
}

void remove_all_leftovers(const path& folder) {
  remove_leftovers(folder);
  std::error_code none;
  for (const auto& inner : std::filesystem::directory_iterator(folder / "trials", none))
    if (inner.is_directory(none)) remove_leftovers(inner.path());
}

}  // namespace headlab
