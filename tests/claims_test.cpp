#include "sweeps/claims.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "core/base/error.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/sealed_file.hpp"
#include "tests/support/process.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

struct ClaimsTest : testing::Test {
  TemporaryFolder folder;
  Claims ours{folder.path}, theirs{folder.path};
  const std::string id = "00ffee0000000001", next = "00ffee0000000002";
};

/// A process that does something, then waits to be killed.
class Child {
 public:
  explicit Child(const std::function<void()>& act) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      act();
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(1);
    }
    char ready{};
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]), close(ends[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  void signal(int number) const { kill(pid_, number); }
  void end() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

TEST_F(ClaimsTest, AreOfOneHolder) {
  EXPECT_TRUE(ours.take(id));
  EXPECT_TRUE(ours.take(id)) << "it has it already";
  EXPECT_FALSE(theirs.take(id));
  EXPECT_TRUE(theirs.take(next));
  EXPECT_EQ(ours.held(), std::set{id});
  theirs.release(id);
  EXPECT_FALSE(theirs.take(id)) << "it was not theirs to release";
  ours.release(id);
  EXPECT_TRUE(theirs.take(id));
}

TEST_F(ClaimsTest, OfIdsBeyondTheLargestByteAreTheirsModulo) {
  EXPECT_TRUE(ours.take("ffffffffffffffff"));
  EXPECT_TRUE(ours.take("8000000000000000"));
  EXPECT_FALSE(theirs.take("3fffffffffffffff"));
  EXPECT_FALSE(theirs.take("0000000000000000"));
  EXPECT_TRUE(theirs.take("3ffffffffffffffe"));
  EXPECT_TRUE(theirs.take("1fffffffffffffff")) << "no smaller modulus";
  EXPECT_TRUE(theirs.take("2000000000000000"));
}

TEST_F(ClaimsTest, AreFreedByTheDeathOfTheirProcessOnly) {
  std::optional<Claims> child_claims;
  Child child([&] {
    child_claims.emplace(folder.path);
    if (!child_claims->take(id)) _exit(2);
  });
  EXPECT_FALSE(ours.take(id));
  child.signal(SIGSTOP);
  EXPECT_FALSE(ours.take(id)) << "a stopped one keeps it";
  EXPECT_EQ(claimed(folder.path, {id, next}), std::vector{id});
  child.end();
  EXPECT_TRUE(ours.take(id));
}

TEST_F(ClaimsTest, AreNotInheritedByProgramsThatAreStarted) {
  auto brief = std::make_unique<Claims>(folder.path);
  ASSERT_TRUE(brief->take(id));
  const Process sleeps("/bin/sleep", {"sleep", "600"});
  brief.reset();
  for (int i = 0; i < 1000 && !ours.take(id); ++i)  // what is closed by exec may be so a moment later
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(sleeps.has_ended());
  EXPECT_TRUE(ours.held().contains(id));
}

TEST_F(ClaimsTest, AreSeenByAnyone) {
  std::vector<std::string> all, held;
  for (unsigned i = 0; i < 60; ++i) {
    all.push_back(fmt::format("{:016x}", i < 30 ? i * 0x0123456789abcdefU : 100 + i));
    if (i % 3 == 0 || i == 31) continue;
    EXPECT_TRUE((i % 2 == 0 ? ours : theirs).take(all.back()));
    held.push_back(all.back());
  }
  EXPECT_EQ(claimed(folder.path, all), held);
  EXPECT_EQ(claimed(folder.path / "none", all), std::vector<std::string>{});
  EXPECT_FALSE(std::filesystem::exists(folder.path / "none"));
}

TEST_F(ClaimsTest, OfTheFoldingAreApart) {
  const FoldLock a(folder.path), b(folder.path);
  EXPECT_TRUE(a.take());
  EXPECT_TRUE(ours.take(id));
  EXPECT_FALSE(b.take());
  EXPECT_EQ(claimed(folder.path, {id, next}), std::vector{id});
  a.release();
  EXPECT_TRUE(b.take());
}

TEST_F(ClaimsTest, OfTheFoldingLastAsLongAsAProcessThatSharesThem) {
  auto first = std::make_unique<FoldLock>(folder.path);
  ASSERT_TRUE(first->take());
  Child folds([] {});
  first.reset();  // its process has died, the one that folds not yet
  const FoldLock second(folder.path);
  EXPECT_FALSE(second.take());
  folds.end();
  EXPECT_TRUE(second.take());
}

TEST_F(ClaimsTest, OfTheWholeFolderAreAlone) {
  {
    const FolderLock all(folder.path);
    EXPECT_FALSE(ours.take(id));
    EXPECT_FALSE(FoldLock(folder.path).take());
    EXPECT_EQ(claimed(folder.path, {id, next}).size(), 2U);
  }
  ASSERT_TRUE(ours.take(id));
  try {
    const FolderLock all(folder.path);
    ADD_FAILURE();
  } catch (const DamagedError& e) {
    EXPECT_EQ(std::string(e.what()).find(folder.path.native() + ": another headlab process is working there"),
              0U)
        << e.what();
  }
  ours.release(id);
  const FolderLock again(folder.path);
}

TEST(ClaimsFolder, MustBeOneThatCanBeWritten) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "file") << "no folder";
  std::filesystem::create_directories(folder.path / "taken" / "claims");  // where there should be a file
  for (const auto& wrong : {folder.path / "file", folder.path / "file" / "inner", folder.path / "taken"})
    try {
      const Claims claims(wrong);
      ADD_FAILURE() << wrong;
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find("not a folder that results can be written to"), std::string::npos)
          << e.what();
    }
}

/// From now on fcntl(.., F_OFD_SETLK, ..) fails as on a file system without locks.
bool take_locks_away() {
  constexpr unsigned no_locks = SECCOMP_RET_ERRNO | ENOLCK;
  sock_filter program[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_fcntl},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args[1])},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, F_OFD_SETLK},
      {BPF_RET | BPF_K, 0, 0, no_locks},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog all{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

TEST(ClaimsFolder, MustBeOnAFileSystemWithLocks) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    std::string told = "no seccomp";
    if (take_locks_away()) try {
        const Claims claims(folder.path);
        told = "nothing";
      } catch (const ConfigError& e) {
        told = e.what();
      }
    _exit(write(ends[1], told.data(), told.size()) < 0);
  }
  close(ends[1]);
  std::string told(1000, '\0');
  told.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], told.data(), told.size()), 0)));
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  if (told == "no seccomp") GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(told, (folder.path / "claims").native() +
                      ": this file system gives no locks on parts of a file (No locks available), by which "
                      "processes share a folder: choose an --out on another one");
}

TEST(ClaimsFolder, IsFreedOfWhatKilledWritersLeft) {
  const TemporaryFolder folder;
  const auto dead = folder.path / "trials" / "ab" / "x.h5.4194305.tmp",
             alive = folder.path / "trials" / "ab" / fmt::format("x.h5.{}.tmp", getpid());
  std::filesystem::create_directories(dead.parent_path());
  write_quickly(dead, "");
  write_quickly(alive, "");
  write_quickly(folder.path / "results.h5.4194305.tmp", "");
  remove_all_leftovers(folder.path);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_FALSE(std::filesystem::exists(folder.path / "results.h5.4194305.tmp"));
}

}  // namespace
}  // namespace headlab::test
