#pragma once
#include "core/log/hdf5.hpp"
#include "experiments/options.hpp"

namespace headlab {

/// The shell's spelling of a command line.
std::string quoted(const std::vector<std::string>& words);

/// Where and with what this process computes: what all its trials share. To be asked in a thread that trains,
/// see dnn::single_threaded().
hdf5::Values provenance(const CommandLine& line);

}  // namespace headlab
