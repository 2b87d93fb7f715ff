#include "sweeps/memory.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/log/atomic_file.hpp"
#include "core/train/cost.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {
namespace {

struct Memory : testing::Test {
  TemporaryFolder folder;
  void put(const std::string& file, const std::string& text) const { write_quickly(made(file), text); }
  double available() const {
    return available_memory(folder.path / "groups", folder.path / "mount", folder.path / "meminfo");
  }

 private:
  std::filesystem::path made(const std::string& file) const {
    std::filesystem::create_directories((folder.path / file).parent_path());
    return folder.path / file;
  }
};

TEST_F(Memory, IsWhatTheMachineAndTheCgroupsLeave) {
  EXPECT_EQ(available(), std::numeric_limits<double>::infinity());
  put("meminfo", "MemTotal:  9000 kB\nMemFree: 1 kB\nMemAvailable:   2000 kB\n");
  EXPECT_EQ(available(), 2000 * 1024);
  put("groups", "0::/a/b\n");
  put("mount/a/b/memory.max", "max\n");
  put("mount/a/b/memory.current", "500000\n");
  EXPECT_EQ(available(), 2000 * 1024);
  put("mount/a/memory.max", "1000000\n");
  put("mount/a/memory.current", "700000\n");
  EXPECT_EQ(available(), 300000);
  put("mount/a/memory.stat", "anon 1\ninactive_file 200000\n");
  EXPECT_EQ(available(), 500000);
  put("mount/a/memory.current", "1900000\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(Memory, OfCgroupsOfTheFirstVersionCountsToo) {
  put("groups", "4:cpu,cpuacct:/job\n3:memory:/job\n");
  put("mount/memory/job/memory.limit_in_bytes", "1000000\n");
  put("mount/memory/job/memory.usage_in_bytes", "600000\n");
  put("mount/memory/job/memory.stat", "inactive_file 7\ntotal_inactive_file 100000\n");
  EXPECT_EQ(available(), 500000);
}

TEST_F(Memory, CapsTheWorkers) {
  const SweepPlan plan = plan_of("grid.model.dim = [4, 16, 8, 32]");
  Store store(folder.path);
  RunOptions options = sample_options(scenario("fine"), 3);
  options.memory = [](const Config& c) { return static_cast<double>(c.model.dim); };
  const auto fit = [&](double room) { return workers_that_fit(plan, store, options, room); };
  EXPECT_EQ(memory_predicted(plan, store, options, 3), 56);
  EXPECT_EQ(memory_predicted(plan, store, options, 9), 60);
  EXPECT_EQ(fit(56), 3);
  EXPECT_EQ(fit(55.9), 2);
  EXPECT_EQ(fit(47.9), 1);
  EXPECT_EQ(fit(0), 1);
  store.add(sample_record(plan.trials[3]));  // the largest is done
  EXPECT_EQ(fit(28), 3);
  EXPECT_EQ(fit(27.9), 2);
  options.workers = 9;  // more than there are trials
  EXPECT_EQ(fit(28), 9);
}

TEST(Bytes, AreToldInUnitsThatPeopleRead) {
  const std::pair<double, const char*> cases[]{{0, "0 bytes"},    {999, "999 bytes"}, {5200, "5.2 KB"},
                                               {52000, "52 KB"},  {2.5e6, "2.5 MB"},  {999.6e6, "1.0 GB"},
                                               {124e6, "124 MB"}, {3e15, "3000 TB"}};
  for (const auto& [bytes, told] : cases) EXPECT_EQ(bytes_text(bytes), told) << bytes;
}

}  // namespace
}  // namespace headlab::test
