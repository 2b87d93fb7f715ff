#include "sweeps/worker.hpp"

#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "sweeps/checkpoints.hpp"

namespace headlab {
namespace {

int run(const CommandLine& given) {
  CommandLine line = given;
  Seconds every = checkpoint_every;
  read(line, "checkpoint-every", every);
  line.raise();
  const Keys keys = all_keys();
  return serve(keys, [&](const PlannedTrial& trial, const Stop& stop) {
    const Checkpointing checkpointing{.file = checkpoint_path(line.text("checkpoints"), trial.id),
                                      .every = every,
                                      .note = [](const std::string& text) { console::tell(text + "\n"); }};
    return checkpointed_training(keys, trial.config, stop, checkpointing);
  });
}

}  // namespace

Command worker_command() {
  return {.name = "worker",
          .operands = "",
          .help = "train what headlab sweep assigns; started by it alone",
          .example = "headlab sweep sweeps/specs/demo.toml",
          .hidden = true,
          .options = {{"checkpoints", "DIR", "where trials keep checkpoints"},
                      {"checkpoint-every", "D", "how often they do"}},
          .run = run};
}

}  // namespace headlab
