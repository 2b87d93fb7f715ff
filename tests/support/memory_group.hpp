#pragma once
// A control group of processes whose memory is limited, where this process may make one: as root, with
// cgroups of either version mounted to be written to.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace headlab::test {

class MemoryGroup {
 public:
  explicit MemoryGroup(std::size_t bytes) {
    const std::string name = "headlab-tests-" + std::to_string(getpid());
    for (const auto& [root, limit] : {std::pair{"/sys/fs/cgroup", "memory.max"},
                                      std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}})
      if (!exists_) try_in(std::filesystem::path(root) / name, limit, bytes);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  /// The kernel keeps it for a moment after its last process has ended.
  ~MemoryGroup() {
    for (int i = 0; exists_ && rmdir(path_.c_str()) != 0 && i < 100; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  bool exists() const { return exists_; }
  const std::filesystem::path& path() const { return path_; }
  const std::string& why_not() const { return why_not_; }

 private:
  void try_in(const std::filesystem::path& group, const char* limit, std::size_t bytes) {
    std::error_code error;
    if (!std::filesystem::create_directory(group, error)) {
      why_not_ = group.native() + ": " + error.message();
      return;
    }
    if (std::filesystem::exists(group / limit))
      exists_ = static_cast<bool>(std::ofstream(group / limit) << bytes << std::flush);
    if (exists_) {
      path_ = group;
      if (std::filesystem::exists(group / "memory.swap.max")) std::ofstream(group / "memory.swap.max") << 0;
    } else {
      why_not_ = (group / limit).native() + ": cannot be written to";
      rmdir(group.c_str());
    }
  }
  bool exists_ = false;
  std::filesystem::path path_;
  std::string why_not_;
};

}  // namespace headlab::test
