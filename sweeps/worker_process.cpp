#include "sweeps/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <system_error>

#include "core/base/text.hpp"
#include "sweeps/worker.hpp"

namespace headlab {
namespace {

constexpr std::size_t kept_words = 4096, told_words = 300;  // bytes

[[noreturn]] void fail(int error) {
  throw std::system_error(error, std::generic_category(), "cannot start a worker process");
}

struct Ends {
  int own, other;
};
Ends socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0) fail(errno);
  return {ends[0], ends[1]};
}
Ends pipe_from_other() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) fail(errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

/// Blocked from the first moment on, and for good: a worker is told to stop by its supervisor alone.
sigset_t not_for_workers() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, s);
  return set;
}

/// What posix_spawn is to do between fork and exec.
class Preparation {
 public:
  Preparation(int socket, int errors, std::optional<int> kept) {
    const sigset_t blocked = not_for_workers();
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes_, &blocked);
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, socket, worker_descriptor);
    if (kept) posix_spawn_file_actions_adddup2(&actions_, *kept, *kept);  // no longer closed by exec
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  pid_t spawn(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    if (const int error =
            ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_, arguments.data(), environ))
      fail(error);
    return pid;
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

std::string death(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = ::sigabbrev_np(signal);
  return fmt::format("killed by signal {} ({}{})", signal, name != nullptr ? "SIG" : "unknown",
                     name != nullptr ? name : "");
}

WorkerProcess::WorkerProcess(const std::vector<std::string>& words, const Greeting& greeting,
                             std::optional<int> kept) {
  const Ends socket = socket_pair();
  channel_.emplace(socket.own);
  const Channel others(socket.other);
  const Ends pipe = pipe_from_other();
  errors_ = pipe.own;
  try {
    pid_ = Preparation(socket.other, pipe.other, kept).spawn(words);
  } catch (...) {
    ::close(pipe.other);
    ::close(errors_);
    throw;
  }
  ::close(pipe.other);
  channel_->send(encoded(greeting));
}

WorkerProcess::~WorkerProcess() {
  if (!ended_) {
    kill();
    wait();
  }
  ::close(errors_);
}

void WorkerProcess::read_errors(const std::function<void(std::string_view)>& say) {
  constexpr int most_pieces = 32;  // more than a pipe holds, and an end for one that never stops writing
  std::array<char, kept_words> buffer{};
  for (int i = 0; i < most_pieces; ++i) {
    const ssize_t got = ::read(errors_, buffer.data(), buffer.size());
    if (got <= 0) return;
    partial_.append(buffer.data(), static_cast<std::size_t>(got));
    say_lines(say);
  }
}

void WorkerProcess::say_lines(const std::function<void(std::string_view)>& say) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = partial_.find('\n', begin)) != partial_.npos; begin = end + 1)
    say(std::string_view(partial_).substr(begin, end - begin));
  if (begin == 0 && partial_.size() >= kept_words) say(partial_), begin = partial_.size();
  words_.append(partial_, 0, begin);
  partial_.erase(0, begin);
  if (words_.size() > kept_words) words_.erase(0, words_.size() - kept_words);
}

std::string WorkerProcess::last_words() const {
  std::string line;
  const std::string all = words_ + partial_;
  std::string_view text = trimmed(all);
  if (text.size() > told_words) text.remove_prefix(text.size() - told_words);
  for (const char c : text)
    if (c != '\n')
      line += c;
    else if (!line.ends_with("; "))
      line += "; ";
  return line;
}

void WorkerProcess::kill() const { ::kill(pid_, SIGKILL); }

std::string WorkerProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
  return death(status);
}

}  // namespace headlab
