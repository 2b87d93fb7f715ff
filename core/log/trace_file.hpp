#pragma once
#include "core/log/sealed_file.hpp"
#include "core/train/trace.hpp"

namespace headlab {

struct TraceRecord : Trace {
  hdf5::Values config;      ///< by key, those not inert
  hdf5::Values provenance;  ///< version, host, start, ...
};

/// /config with an attribute a key, /initial, /final, /steps, /first, /first/gradients and
/// /evaluation/LENGTH with a dataset a member. Atomically, and only if it reads back as the same;
/// std::logic_error for elements that do not fill their shape or tables of different numbers of steps.
void write_trace(const std::filesystem::path& to, const TraceRecord& trace);
/// DamagedError, see read_sealed.
TraceRecord read_trace(const std::filesystem::path& from);

}  // namespace headlab
