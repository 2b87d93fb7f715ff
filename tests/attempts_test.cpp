#include "sweeps/attempts.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log/atomic_file.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;

struct AttemptsTest : testing::Test {
  TemporaryFolder folder;
  std::map<std::string, Attempt> read() const { return read_attempts(folder.path); }
};

/// A process that sleeps.
struct Sleeper {
  pid_t pid = fork();
  Sleeper() {
    if (pid == 0)
      for (;;) pause();
  }
  Sleeper(const Sleeper&) = delete;
  ~Sleeper() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
};

TEST_F(AttemptsTest, StandFromBeginToEnd) {
  Attempts attempts(folder.path);
  EXPECT_TRUE(read().empty());
  attempts.begin("ab", getpid());
  ASSERT_EQ(read().size(), 1u);
  const Attempt a = read().at("ab");
  EXPECT_EQ(a.process, getpid());
  EXPECT_EQ(a.crashes, 0);
  EXPECT_EQ(a.start.size(), 20u);
  EXPECT_EQ(a.start, attempts.start("ab"));
  attempts.end("ab");
  EXPECT_TRUE(read().empty());
}

TEST_F(AttemptsTest, RememberCrashesAlone) {
  {
    Attempts attempts(folder.path);
    attempts.begin("ab", getpid());
    attempts.begin("cd", getpid());
    EXPECT_EQ(attempts.crash("ab", "killed\nby"), 1);
    EXPECT_EQ(attempts.crash("ab", "exit code 2"), 2);
    attempts.begin("ab", getpid());
    attempts.give_up("ab");
  }
  EXPECT_EQ(read().size(), 2u);
  const Attempts again(folder.path);
  EXPECT_EQ(again.crashes("ab"), 2);
  EXPECT_EQ(again.crashes("cd"), 0);
  EXPECT_EQ(read().at("ab").cause, "exit code 2");
  EXPECT_FALSE(is_alive(read().at("ab")));
}

TEST_F(AttemptsTest, OfOtherSupervisorsAreReadAgain) {
  Attempts mine(folder.path), others(folder.path);
  const Sleeper sleeper;
  others.begin("ab", sleeper.pid);
  EXPECT_FALSE(mine.is_running("ab"));
  mine.look_for("ab");
  EXPECT_TRUE(mine.is_running("ab"));
  others.crash("ab", "exit code 2");
  mine.look_for("ab");
  EXPECT_FALSE(mine.is_running("ab"));
  EXPECT_EQ(mine.crashes("ab"), 1);
  others.end("ab");
  mine.look_for("ab");
  EXPECT_EQ(mine.ids(), std::vector<std::string>{});
}

TEST_F(AttemptsTest, GiveUpWithoutACrashLeavesNothing) {
  {
    Attempts attempts(folder.path);
    attempts.begin("ab", getpid());
    attempts.give_up("ab");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST_F(AttemptsTest, AreAliveAsLongAsTheirProcess) {
  Attempts attempts(folder.path);
  {
    const Sleeper sleeper;
    attempts.begin("ab", sleeper.pid);
    Attempt a = read().at("ab");
    EXPECT_TRUE(is_alive(a));
    a.birth += "0";
    EXPECT_FALSE(is_alive(a)) << "another process of that number";
    a = read().at("ab");
    a.host += "x";
    EXPECT_FALSE(is_alive(a)) << "of another host";
    kill(sleeper.pid, SIGKILL);
    for (int i = 0; i < 1000 && is_alive(read().at("ab")); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(is_alive(read().at("ab"))) << "one that has ended, though nobody has asked how";
  }
  EXPECT_FALSE(is_alive(read().at("ab")));
}

TEST_F(AttemptsTest, ThatAreDamagedSayNothing) {
  write_atomically(folder.path / "attempts" / "ab", "\n\nx\ncrashes many\nprocess\ncause ");
  write_atomically(folder.path / "attempts" / "cd", "");
  write_atomically(folder.path / "attempts" / "ef.1.tmp", "crashes 3\n");
  for (const auto& [id, attempt] : read()) {
    EXPECT_TRUE(id == "ab" || id == "cd");
    EXPECT_EQ(attempt.crashes, 0);
    EXPECT_FALSE(is_alive(attempt));
  }
  EXPECT_EQ(read().size(), 2u);
}

}  // namespace
}  // namespace headlab::test
