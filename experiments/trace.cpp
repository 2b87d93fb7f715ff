#include "core/config/write.hpp"
#include "core/dnn/threads.hpp"
#include "core/log/trace_file.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/provenance.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

void require_option(CommandLine& line, const std::string& option) {
  if (!line.has(option)) line.keys.faults.push_back(fmt::format("--{}: must be given", option));
}

int run(const CommandLine& given) {
  CommandLine line = given;
  std::int64_t steps = 1;
  for (const char* option : {"steps", "out"}) require_option(line, option);
  read(line, "steps", at_least(1), steps);
  check_output(line, "out");
  const Keys keys = all_keys();
  const Resolved resolved = configuration(line, keys);
  dnn::single_threaded();
  TraceRecord record;
  record.provenance = provenance(line);
  record.provenance["start"] = timestamp();
  static_cast<Trace&>(record) = trace(resolved.config, steps);
  record.provenance["end"] = timestamp();
  for (const Key& key : keys)
    if (!key.inert(resolved.config)) record.config[key.name] = key.get(resolved.config);
  write_trace(line.text("out"), record);
  console::offer(
      fmt::format("{}: {} steps of trial {}\n", line.text("out"), steps, id(keys, resolved.config)));
  return done;
}

}  // namespace

Command trace_command() {
  return {.name = "trace",
          .operands = "[FILE.toml] [--KEY VALUE]...",
          .help = "a file with all that another program needs to check some steps",
          .details =
              "Weights before and after, tokens, labels, losses, the first step's logits and gradients, and\n"
              "validation logits after the last step. Not with dropout.",
          .example = "headlab trace --task.name mode --model.dim 16 --steps 20 --out trace.h5",
          .most = 1,
          .keys = true,
          .options = {{"steps", "K", "training steps"},
                      {"out", "TRACE.h5", "the file"},
                      {"force", "", "let it replace a file that is there"}},
          .run = run};
}

}  // namespace headlab
