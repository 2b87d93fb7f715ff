#include <chrono>

#include "core/base/numbers.hpp"
#include "core/base/stopwatch.hpp"
#include "core/dnn/threads.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/provenance.hpp"
#include "experiments/report.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

/// Prints a line an epoch. A trial that leaves nothing but these lines stops when nobody reads them.
class Printer : public Sink {
 public:
  explicit Printer(bool is_kept) : is_kept_(is_kept) {}

  void epoch(const History& h) override {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    if (h.step.size() == 1) write(fmt::format("{}  {:>8}\n", epoch_header(h), "seconds"));
    write(fmt::format("{}  {:>8.1f}\n", epoch_line(h, h.step.size() - 1), seconds.count()));
  }
  bool stop() override { return closed_ && !is_kept_; }

  void write(const std::string& text) { closed_ = closed_ || !console::offer(text); }

 private:
  bool is_kept_, closed_ = false;
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

int run(const CommandLine& given) {
  CommandLine line = given;
  check_output(line, "out");
  const Keys keys = all_keys();
  const Resolved resolved = configuration(line, keys);
  dnn::single_threaded();
  hdf5::Values shared = provenance(line);
  shared["start"] = timestamp();
  Printer printer(line.has("out"));
  const Outcome outcome = train(resolved.config, printer);
  shared["end"] = timestamp();
  TrialRecord record = record_of(keys, resolved.config, outcome);
  record.provenance.merge(shared);
  if (line.has("out")) write_timed(line.text("out"), record);
  printer.write(test_lines(record) + case_lines(record));
  const bool biased = outcome.chance_accuracy_training != outcome.chance_accuracy;
  printer.write(
      fmt::format("trial {}: {}{}, {} parameters, chance accuracy {:.4f}{}\n", record.id,
                  to_string(record.status), record.message.empty() ? "" : ", " + record.message,
                  grouped(outcome.parameters), outcome.chance_accuracy,
                  biased ? fmt::format(", {:.4f} in training", outcome.chance_accuracy_training) : ""));
  return done;
}

}  // namespace

Command train_command() {
  return {.name = "train",
          .operands = "[FILE.toml] [--KEY VALUE]...",
          .help = "train one model, a line an epoch",
          .details = "Accuracies are shares of right answers; validation@0.5 is at half the task's length.",
          .example = "headlab train --task.name mode --model.architecture nap --model.dim 16 --lr 1e-3",
          .most = 1,
          .keys = true,
          .options = {{"out", "RUN.h5", "keep all that is measured in this file; without it nothing is kept"},
                      {"force", "", "let it replace a file that is there"}},
          .run = run};
}

}  // namespace headlab
