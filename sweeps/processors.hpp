#pragma once
#include <filesystem>

namespace headlab {

/// Processors that this process may use: the least of its affinity, the quotas of its cgroup and of those
/// around it (rounded down, at least 1) and SLURM_CPUS_PER_TASK.
int available_processors();

/// The least quota of a process's cgroups, in processors; infinity for none. `groups` is /proc/self/cgroup,
/// `mount` is /sys/fs/cgroup.
double cgroup_quota(const std::filesystem::path& groups, const std::filesystem::path& mount);

}  // namespace headlab
