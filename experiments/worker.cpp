#include "sweeps/worker.hpp"

#include "experiments/command.hpp"
#include "experiments/configuration.hpp"

namespace headlab {
namespace {

int run(const CommandLine& /*none*/) {
  const Keys keys = all_keys();
  return serve(keys, silent_training(keys));
}

}  // namespace

Command worker_command() {
  return {.name = "worker",
          .operands = "",
          .help = "train what headlab sweep assigns; started by it alone",
          .example = "headlab sweep sweeps/specs/demo.toml",
          .hidden = true,
          .run = run};
}

}  // namespace headlab
