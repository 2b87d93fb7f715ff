#include "core/log/elsewhere.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

#include "core/log/sealed_file.hpp"

namespace headlab {
namespace {

constexpr char good = '+', bad = '-';

void send(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(to, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) ::_exit(1);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Lets this process die of SIGXCPU after so long: HDF5 runs in circles on some bytes.
void limit_processor_time(const std::filesystem::path& from) {
  constexpr rlim_t least = 10, bytes_a_second = 250'000;
  std::error_code none;
  const auto size = std::filesystem::file_size(from, none);
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, least + (none ? 0 : size / bytes_a_second));
  ::setrlimit(RLIMIT_CPU, &limit);
  ::signal(SIGXCPU, SIG_DFL);
}

/// What the child does: `good` and what work gives, or `bad` and why not.
[[noreturn]] void answer_with(const std::filesystem::path& from, const std::function<std::string()>& work,
                              int to) {
  try {
    const std::string result = work();
    send(to, {&good, 1});
    send(to, result);
  } catch (const std::exception& e) {
    send(to, {&bad, 1});
    const std::string_view why = e.what();
    send(to, why.starts_with(from.native()) ? std::string(why)
                                            : fmt::format("{}: damaged: {}", from.native(), why));
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

}  // namespace

std::string elsewhere(const std::filesystem::path& from, const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) < 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = ::fork();
  if (child == 0) limit_processor_time(from), answer_with(from, work, ends[1]);
  const int fork_error = errno;
  ::close(ends[1]);
  std::string answer = child < 0 ? "" : received(ends[0]);
  ::close(ends[0]);
  if (child < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    throw DamagedError(fmt::format("{}: damaged: HDF5 reads it without end", from.native()));
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

}  // namespace headlab
