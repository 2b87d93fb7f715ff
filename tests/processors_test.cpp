#include "sweeps/processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <limits>
#include <thread>

#include "core/log/atomic_file.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

struct Cgroups : testing::Test {
  TemporaryFolder folder;
  void put(const std::string& file, const std::string& text) const {
    write_atomically(folder.path / file, text);
  }
  double quota() const { return cgroup_quota(folder.path / "groups", folder.path / "mount"); }
};

TEST_F(Cgroups, GiveTheLeastQuotaOnTheWayUp) {
  EXPECT_EQ(quota(), std::numeric_limits<double>::infinity());
  put("groups", "0::/a/b\n");
  put("mount/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::numeric_limits<double>::infinity());
  put("mount/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  put("mount/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  put("mount/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(Cgroups, OfTheFirstVersionCountToo) {
  put("groups", "5:cpuset:/\n4:cpu,cpuacct:/job\n");
  put("mount/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  put("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), std::numeric_limits<double>::infinity());
  put("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(quota(), 4);
  put("groups", "5:cpuset:/job\n");
  EXPECT_EQ(quota(), std::numeric_limits<double>::infinity());
}

TEST(Processors, AreThoseOfAffinityAndSlurm) {
  std::thread([] {  // affinity is a thread's own
    const int before = available_processors();
    EXPECT_GE(before, 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(available_processors(), 1);
  })
      .join();
  const int all = available_processors();
  setenv("SLURM_CPUS_PER_TASK", "1", 1);
  EXPECT_EQ(available_processors(), 1);
  setenv("SLURM_CPUS_PER_TASK", "1000000", 1);
  EXPECT_EQ(available_processors(), all);
  unsetenv("SLURM_CPUS_PER_TASK");
}

}  // namespace
}  // namespace headlab::test
