#pragma once
#include "core/config/resolve.hpp"
#include "experiments/options.hpp"

namespace headlab {

/// All keys: the core's, and those that tasks declare.
Keys all_keys();

/// What a TOML file says; that it cannot be read is a fault.
Source read_file(const std::string& path);

/// What `first`, the files among the operands and the options give, options last. ConfigError with all
/// faults, those of the command line included; notes go to the console.
Resolved configuration(const CommandLine& line, const Keys& keys, const Source& first = {});

/// Adds to the line's faults if the file that an option names is there already and --force is not given.
void check_output(CommandLine& line, const std::string& option);

}  // namespace headlab
