#pragma once
#include <filesystem>
#include <string>

namespace headlab {

/// Processors that this process may use: the least of its affinity, the quotas of its cgroup and of those
/// around it (rounded down, at least 1) and SLURM_CPUS_PER_TASK.
int available_processors();

/// The least that `limit` gives for the folder of a process's cgroup of a controller, or of one around it; of
/// version 2 and 1 alike. Infinity without cgroups.
double least_of_cgroups(const std::filesystem::path& groups, const std::filesystem::path& mount,
                        const std::string& controller, double (*limit)(const std::filesystem::path& group));

/// The least quota of a process's cgroups, in processors; infinity for none. `groups` is /proc/self/cgroup,
/// `mount` is /sys/fs/cgroup.
double cgroup_quota(const std::filesystem::path& groups, const std::filesystem::path& mount);

}  // namespace headlab
