// ^C in a terminal, which sends its signal to the sweep and all of its workers.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>

#include <fstream>

#include "sweeps/attempts.hpp"
#include "tests/support/runner.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

/// A terminal in whose foreground one command runs.
class Terminal {
 public:
  Terminal(const std::string& command, const std::filesystem::path& folder)
      : pid_(forkpty(&keyboard_, nullptr, nullptr, nullptr)) {
    if (pid_ != 0) return;
    setenv("HEADLAB", program().c_str(), 1);
    if (chdir(folder.c_str()) == 0) execl("/bin/bash", "bash", "-c", ("exec " + command).c_str(), nullptr);
    _exit(127);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (pid_ > 0) kill(pid_, SIGKILL), wait();
    close(keyboard_);
  }
  void press_control_c() const { EXPECT_EQ(::write(keyboard_, "\x03", 1), 1); }
  /// Reads the screen until something holds, for a minute at most.
  bool await(const std::function<bool()>& holds) {
    constexpr int most = 6000;
    for (int i = 0; i < most; ++i, read_on())
      if (holds()) return true;
    return false;
  }
  /// As a shell gives it: 128 + n for signal n.
  int wait() {
    while (read_on()) {
    }
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }
  const std::string& screen() const { return screen_; }

 private:
  /// Whether there can be more: the end of all that write to a terminal is an error.
  bool read_on() {
    pollfd screen{keyboard_, POLLIN, 0};
    if (poll(&screen, 1, 10) == 0) return true;
    char some[4096];
    const auto n = ::read(keyboard_, some, sizeof some);
    if (n > 0) screen_.append(some, static_cast<std::size_t>(n));
    return n > 0;
  }
  int keyboard_ = -1;
  pid_t pid_;
  std::string screen_;
};

struct SweepInTerminal : TinySweep {
  SweepInTerminal() {
    specify("train.steps_per_epoch = 1000\ntrain.epochs = 100_000\n", "seed = [0, 1, 2]\n");
  }
  /// Whether a worker has come so far as to die with its supervisor, after which it calls itself so.
  static bool is_tied(pid_t worker) {
    std::ifstream in(fmt::format("/proc/{}/comm", worker));
    std::string name;
    return std::getline(in, name) && name == "headlab-worker";
  }
  std::vector<pid_t> workers() const {
    std::vector<pid_t> all;
    for (const auto& [id, attempt] : read_attempts(folder.path / "run"))
      if (is_alive(attempt) && is_tied(attempt.process)) all.push_back(attempt.process);
    return all;
  }
  std::string told_status() const { return run("$HEADLAB status run").out; }
};

/// Whether a process would not see an interrupt now: bit 1 of the mask in its status.
bool blocks_interrupts(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("SigBlk:")) return (std::stoull(line.substr(7), nullptr, 16) & 2U) != 0;
  return false;
}

TEST_F(SweepInTerminal, IsStoppedInOrderByControlC) {
  Terminal terminal("$HEADLAB sweep a.toml --out run -j 2", folder.path);
  ASSERT_TRUE(terminal.await([&] { return workers().size() == 2; })) << terminal.screen();
  terminal.press_control_c();
  EXPECT_EQ(terminal.wait(), 130) << terminal.screen();
  EXPECT_NE(terminal.screen().find("stopped early"), std::string::npos) << terminal.screen();
  EXPECT_FALSE(std::filesystem::exists(folder.path / "run/attempts")) << "no worker has crashed";
  EXPECT_NE(told_status().find("\n  pending    3\n"), std::string::npos) << told_status();
}

TEST_F(SweepInTerminal, EndsAtOnceByASecondControlC) {
  Terminal terminal("$HEADLAB sweep a.toml --out run -j 2", folder.path);
  ASSERT_TRUE(terminal.await([&] { return workers().size() == 2; })) << terminal.screen();
  for (const pid_t worker : workers()) kill(worker, SIGSTOP);  // so that the first one does not end them
  terminal.press_control_c();
  ASSERT_TRUE(terminal.await([&] { return !blocks_interrupts(terminal.pid()); })) << "it is not taken";
  EXPECT_EQ(workers().size(), 2U);
  terminal.press_control_c();
  EXPECT_EQ(terminal.wait(), 130);
  EXPECT_EQ(terminal.screen().find("stopped early"), std::string::npos) << "it waited for its workers";
  EXPECT_TRUE(await_no_worker(folder.path / "run"));
  EXPECT_NE(told_status().find("\n  pending    3\n"), std::string::npos) << told_status();
}

}  // namespace
}  // namespace headlab::test
