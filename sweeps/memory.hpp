#pragma once
#include <filesystem>

#include "sweeps/runner.hpp"

namespace headlab {

/// Bytes that this process may still fill: the least of what the memory limits of its cgroup and of those
/// around it leave, and MemAvailable; infinity if none is known. `groups` is /proc/self/cgroup, `mount` is
/// /sys/fs/cgroup, `memory` is /proc/meminfo.
double available_memory(const std::filesystem::path& groups = "/proc/self/cgroup",
                        const std::filesystem::path& mount = "/sys/fs/cgroup",
                        const std::filesystem::path& memory = "/proc/meminfo");

/// Bytes that a worker process fills with a trial: its own, memory_needed() and, for as long as a checkpoint
/// is written, the copied state and its file's image.
double worker_memory(const Config& config);

/// Bytes that the `workers` largest of the trials to run fill when they run side by side.
double memory_predicted(const SweepPlan& plan, const Store& store, const RunOptions& options, int workers);

/// The most workers, up to those of the options and at least one, for whose predicted memory there is room.
int workers_that_fit(const SweepPlan& plan, const Store& store, const RunOptions& options, double available);

/// For people: 640 bytes, 5.2 KB, 1.3 GB; powers of 1000.
std::string bytes_text(double bytes);

}  // namespace headlab
