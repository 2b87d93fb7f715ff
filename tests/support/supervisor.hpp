#pragma once
// Sweeps in processes of their own: this binary, run with the words `supervisor FOLDER WORKERS AXES SCENARIO
// ARGUMENT...`.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "tests/support/sweep.hpp"

namespace headlab::test {

/// What such a process does: `words` are those after `supervisor`. Its code is that of the sweep.
inline int run_supervisor(const std::vector<std::string>& words) {
  Store store(words.at(0));
  std::vector<std::string> worker{"headlab_tests", "worker"};
  worker.insert(worker.end(), words.begin() + 3, words.end());
  const RunResult r =
      run(core_only(), plan_of(words.at(2)), store, sample_options(worker, std::stoi(words.at(1))));
  for (const std::string& fault : r.faults) fmt::print(stderr, "{}\n", fault);
  return r.exit_code;
}

class Supervisor {
 public:
  /// `worker` as scenario() gives it.
  Supervisor(const std::filesystem::path& folder, const std::string& axes,
             const std::vector<std::string>& worker, int workers = 1) {
    std::vector<std::string> words{"headlab_tests", "supervisor", folder, std::to_string(workers), axes};
    words.insert(words.end(), worker.begin() + 2, worker.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ), 0);
  }
  Supervisor(Supervisor&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Supervisor& operator=(Supervisor&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Supervisor() { kill(); }

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    wait();
  }
  /// Its exit code, -1 if it was killed.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool has_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace headlab::test
