#include "sweeps/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "core/base/numbers.hpp"

namespace headlab {
namespace {

using std::filesystem::path;
constexpr double none = std::numeric_limits<double>::infinity();

int affinity() {
  constexpr int most = 1 << 14;
  cpu_set_t* set = CPU_ALLOC(most);
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  const int n = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 1;
  CPU_FREE(set);
  return std::max(n, 1);
}

/// "200000 100000", quota and period in microseconds; cgroup 1 has them in two files, -1 for none.
double quota_of(const path& group) {
  double quota = -1, period = 0;
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period && quota > 0 && period > 0)
    return quota / period;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : none;
}

}  // namespace

double least_of_cgroups(const path& groups, const path& mount, const std::string& controller,
                        double (*limit)(const path& group)) {
  double least = none;
  std::ifstream in(groups);
  for (std::string line; std::getline(in, line);) {  // ID:CONTROLLERS:/PATH
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find("," + controller + ",") == std::string::npos)
      continue;
    const path top = controllers.empty() ? mount : mount / controllers;
    path inner = path(line.substr(second + 1)).relative_path();
    for (;; inner = inner.parent_path()) {
      least = std::min(least, limit(top / inner));
      if (inner.empty()) break;
    }
  }
  return least;
}

double cgroup_quota(const path& groups, const path& mount) {
  return least_of_cgroups(groups, mount, "cpu", quota_of);
}

int available_processors() {
  double n = std::min<double>(affinity(), cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
  if (const char* slurm = std::getenv("SLURM_CPUS_PER_TASK"))
    if (const auto given = read_integer(slurm); given && *given > 0)
      n = std::min(n, static_cast<double>(*given));
  return std::max(1, static_cast<int>(n));
}

}  // namespace headlab
