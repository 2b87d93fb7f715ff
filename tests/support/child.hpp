#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/log/atomic_file.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {

/// headlab, which is built beside its tests.
inline std::filesystem::path program() {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / "headlab";
}

/// How a process ended: `code` as a shell gives it, 128 + n for signal n.
struct Ended {
  int code{};
  std::string out, err;
};

/// Runs a shell command in a folder; $HEADLAB is the program.
inline Ended shell(const std::string& command, const std::filesystem::path& folder) {
  TemporaryFolder streams;
  const auto out = streams.path / "out", err = streams.path / "err";
  const pid_t child = fork();
  if (child == 0) {
    const auto redirect = [](const std::filesystem::path& to, int fd) {
      dup2(open(to.c_str(), O_WRONLY | O_CREAT, 0600), fd);
    };
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    setenv("HEADLAB", program().c_str(), 1);
    if (chdir(folder.c_str()) == 0) execl("/bin/bash", "bash", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_bytes(out), read_bytes(err)};
}

}  // namespace headlab::test
