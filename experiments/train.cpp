#include <chrono>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/stopwatch.hpp"
#include "core/config/write.hpp"
#include "core/dnn/threads.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/interruption.hpp"
#include "experiments/provenance.hpp"
#include "experiments/report.hpp"
#include "sweeps/checkpoints.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

/// Prints a line an epoch. A trial that leaves nothing but these lines stops when nobody reads them, any
/// trial when `stop` says so.
class Printer : public Sink {
 public:
  Printer(bool is_kept, Stop stop) : is_kept_(is_kept), stop_(std::move(stop)) {}

  void epoch(const History& h) override {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    if (!std::exchange(has_header_, true)) write(fmt::format("{}  {:>8}\n", epoch_header(h), "seconds"));
    write(fmt::format("{}  {:>8.1f}\n", epoch_line(h, h.step.size() - 1), seconds.count()));
  }
  bool stop() override { return (closed_ && !is_kept_) || stop_(); }

  void write(const std::string& text) { closed_ = closed_ || !console::offer(text); }

 private:
  bool is_kept_, closed_ = false, has_header_ = false;
  Stop stop_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Writes the file once more with the time that it took, which is known only then.
void write_timed(const std::filesystem::path& to, TrialRecord& record) {
  double seconds = 0;
  {
    const Stopwatch watch(seconds);
    write_trial(to, record);
  }
  record.provenance["seconds_writing"] = seconds;
  write_trial(to, record);
}

void say_result(Printer& printer, const TrialRecord& record, const Outcome& outcome) {
  printer.write(test_lines(record) + case_lines(record));
  const bool biased = outcome.chance_accuracy_training != outcome.chance_accuracy;
  printer.write(
      fmt::format("trial {}: {}{}, {} parameters, chance accuracy {:.4f}{}\n", record.id,
                  to_string(record.status), record.message.empty() ? "" : ", " + record.message,
                  grouped(outcome.parameters), outcome.chance_accuracy,
                  biased ? fmt::format(", {:.4f} in training", outcome.chance_accuracy_training) : ""));
}

int only_print(const Keys& keys, const Config& config) {
  Printer printer(false, [] { return false; });
  const Outcome outcome = train(config, printer);
  say_result(printer, record_of(keys, config, outcome), outcome);
  return done;
}

/// The trial's id is in the name, so that another configuration for the same file leaves it alone.
std::filesystem::path checkpoint_beside(const std::string& out, const std::string& id) {
  return fmt::format("{}.{}.checkpoint", out, id);
}

void say_stopped(const std::filesystem::path& checkpoint) {
  console::notes({exists(checkpoint)
                      ? fmt::format("stopped early: the same command goes on from {}", checkpoint.native())
                      : "stopped early, too soon for a checkpoint: nothing is kept"});
}

int keep(const CommandLine& line, const Keys& keys, const Config& config, Seconds every) {
  const std::string out = line.text("out");
  Interruption interruption;
  Printer printer(true, [&] { return interruption.signal() != 0; });
  hdf5::Values shared = provenance(line);
  shared["start"] = timestamp();
  const Checkpointing checkpointing{.file = checkpoint_beside(out, id(keys, config)),
                                    .every = every,
                                    .note = [](const std::string& text) { console::notes({text}); }};
  const Outcome outcome = checkpointed_training(keys, config, printer, checkpointing);
  if (outcome.status == Status::interrupted)
    return say_stopped(checkpointing.file), exit_code_of(interruption.signal());
  shared["end"] = timestamp();
  TrialRecord record = record_of(keys, config, outcome);
  record.provenance.merge(shared);
  write_timed(out, record);
  forget_checkpoint(checkpointing.file);
  say_result(printer, record, outcome);
  return done;
}

int run(const CommandLine& given) {
  CommandLine line = given;
  check_output(line, "out");
  Seconds every = checkpoint_every;
  read(line, "checkpoint-every", every);
  if (line.has("checkpoint-every") && !line.has("out"))
    line.keys.faults.emplace_back("--checkpoint-every: wants --out");
  const Keys keys = all_keys();
  const Resolved resolved = configuration(line, keys);
  dnn::single_threaded();
  return line.has("out") ? keep(line, keys, resolved.config, every) : only_print(keys, resolved.config);
}

}  // namespace

Command train_command() {
  return {.name = "train",
          .operands = "[FILE.toml] [--KEY VALUE]...",
          .help = "train one model, a line an epoch",
          .details =
              "Accuracies are shares of right answers; validation@0.5 is at half the task's length.\n"
              "With --out, a training of some seconds that is stopped, by ^C or its end of time, leaves\n"
              "RUN.h5.ID.checkpoint, and the same command goes on from there, to the same bits.",
          .example = "headlab train --task.name mode --model.architecture nap --model.dim 16 --lr 1e-3",
          .most = 1,
          .keys = true,
          .options = {{"out", "RUN.h5", "keep all that is measured in this file; without it nothing is kept"},
                      {"checkpoint-every", "D",
                       "with --out, keep a checkpoint this often: 90s, 10m (which holds without it), 2h"},
                      {"force", "", "let it replace a file that is there"}},
          .run = run};
}

}  // namespace headlab
