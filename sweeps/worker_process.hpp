#pragma once
// The supervisor's side of one worker process.
#include <sys/types.h>

#include <functional>
#include <optional>

#include "sweeps/messages.hpp"

namespace headlab {

/// How a process ended: "killed by signal 11 (SIGSEGV)", "exit code 3". `status` is that of waitpid.
std::string death(int status);

/// A process of this program that runs `serve`. Signals that stop a sweep do not reach it.
class WorkerProcess {
 public:
  /// Starts this program with these words, the first its own name, and greets it; it keeps open what is
  /// `kept`, a descriptor greater than worker_descriptor. std::system_error.
  WorkerProcess(const std::vector<std::string>& words, const Greeting& greeting,
                std::optional<int> kept = {});
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();  ///< kills it

  pid_t pid() const { return pid_; }
  const Channel& channel() const { return *channel_; }

  /// Where its standard output and error can be read; never waits.
  int errors() const { return errors_; }
  /// What came since, in whole lines or in pieces of longer ones, for `say`; the rest is kept.
  void read_errors(const std::function<void(std::string_view)>& say);
  /// The last of what it wrote since forget_words, in one line, or "".
  std::string last_words() const;
  void forget_words() { words_.clear(), partial_.clear(); }

  void kill() const;
  /// Waits for its end; see death().
  std::string wait();

 private:
  void say_lines(const std::function<void(std::string_view)>& say);

  pid_t pid_ = 0;
  bool ended_ = false;
  std::optional<Channel> channel_;
  int errors_ = -1;
  std::string words_;    ///< the last ones
  std::string partial_;  ///< line
};

}  // namespace headlab
