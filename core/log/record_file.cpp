#include "core/log/record_file.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "core/log/atomic_file.hpp"
#include "core/log/results_collection.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

bool is_results(const hdf5::File& file) {
  const auto format = file.attributes.find("format");
  return format != file.attributes.end() && format->second == hdf5::Value(results_format.name);
}

void each_record(const path& from, hdf5::File file, const std::function<void(TrialRecord)>& found) {
  reading(from, [&] {
    if (!is_results(file)) {
      take_format(from, trial_format, file);
      found(from_file(std::move(file)));
      return;
    }
    take_format(from, results_format, file);
    const Rows rows(file);
    for (std::size_t i = 0; i < rows.size(); ++i) found(rows[i]);
  });
}

/// A results.h5 of what is headlab's in a file.
std::string cleaned(const path& from, std::string_view bytes) try {
  Collection all({}, from);
  each_record(from, hdf5::from_image(bytes), [&](const TrialRecord& t) { all.add(t, from); });
  hdf5::File file = std::move(all).whole({}, "");
  file.attributes["format"] = results_format.name;
  file.attributes["format_version"] = results_format.version;
  return hdf5::to_image(file);
} catch (const hdf5::Error& e) {
  throw DamagedError(fmt::format("{}: {}", from.native(), e.what()));
}

constexpr char good = '+', bad = '-';

void send(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(to, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) ::_exit(1);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// What the child does: `good` and the cleaned file, or `bad` and why not.
[[noreturn]] void clean(const path& from, std::string_view bytes, int to) {
  constexpr unsigned longest = 600;  // seconds
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(longest);
  try {
    const std::string image = cleaned(from, bytes);
    send(to, {&good, 1});
    send(to, image);
  } catch (const std::exception& e) {
    send(to, {&bad, 1});
    send(to, e.what());
  }
  ::_exit(0);
}

std::string received(int from) {
  std::string all;
  for (std::string some(1 << 16, '\0');;) {
    const auto n = ::read(from, some.data(), some.size());
    if (n == 0) return all;
    if (n > 0) all.append(some, 0, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "pipe");
  }
}

std::string cleaned_elsewhere(const path& from, std::string_view bytes) {
  int ends[2];
  if (::pipe(ends) < 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = ::fork();
  if (child == 0) clean(from, bytes, ends[1]);
  const int fork_error = errno;
  ::close(ends[1]);
  std::string answer = child < 0 ? "" : received(ends[0]);
  ::close(ends[0]);
  if (child < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    throw DamagedError(
        fmt::format("{}: damaged: HDF5 ended with signal {} on it", from.native(), WTERMSIG(status)));
  if (answer.empty() || WEXITSTATUS(status) != 0)
    throw DamagedError(fmt::format("{}: damaged: HDF5 ended the process that read it", from.native()));
  const bool is_good = answer[0] == good;
  answer.erase(0, 1);
  if (!is_good) throw DamagedError(answer);
  return answer;
}

}  // namespace

bool read_records(const path& from, Seal seal, const std::function<void(TrialRecord)>& found) try {
  std::string bytes = read_bytes(from);
  const bool sealed = seal == Seal::required || has_seal(bytes);
  if (!sealed) bytes = cleaned_elsewhere(from, bytes);
  hdf5::File file = hdf5::from_image(sealed ? unsealed(from, bytes) : bytes);
  bytes = {};
  each_record(from, std::move(file), found);
  return sealed;
} catch (const hdf5::Error& e) {
  throw DamagedError(fmt::format("{}: {}", from.native(), e.what()));
} catch (const std::system_error& e) {
  throw DamagedError(e.what());
}

}  // namespace headlab
