#pragma once
// The commands of the program: one row and one file each.
#include "experiments/options.hpp"

namespace headlab {

/// What the process ends with; the first that applies.
enum Exit { done = 0, trials_failed = 1, wrong_usage = 2, damaged = 3, stopped_early = 75 };

struct Command {
  std::string name{}, operands{};  ///< train, [FILE.toml] [--KEY VALUE]...
  std::string help{};              ///< in a line
  std::string details{};           ///< more lines for --help
  std::string example{};
  std::size_t fewest{}, most{};  ///< operands
  bool keys{};                   ///< --KEY VALUE are options, too
  bool hidden{};                 ///< not listed: the program's own
  std::vector<Option> options{};
  int (*run)(const CommandLine&){};
};

Command train_command();
Command trace_command();
Command sweep_command();
Command status_command();
Command list_command();
Command show_command();
Command merge_command();
Command models_command();
Command tasks_command();
Command keys_command();
Command sample_command();
Command analytic_command();
Command bench_command();
Command reparametrize_command();
Command spectrum_command();
Command worker_command();

/// Runs the program on the words after its name; returns the exit code.
int run_program(const std::vector<std::string>& words);

}  // namespace headlab
