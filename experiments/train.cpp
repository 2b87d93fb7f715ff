#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/stopwatch.hpp"
#include "core/config/write.hpp"
#include "core/dnn/threads.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/interruption.hpp"
#include "experiments/model_file.hpp"
#include "experiments/provenance.hpp"
#include "experiments/report.hpp"
#include "sweeps/checkpoints.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

/// What a command line asks for.
struct Request {
  Keys keys;
  Config config{};
  std::optional<Tensors> start{};  ///< parameters of --from
  Seconds checkpoint_every = headlab::checkpoint_every;
  std::set<std::int64_t> save_at{};  ///< epochs

  const Tensors* parameters() const { return start ? &*start : nullptr; }
};

/// Writes models: after the last epoch --save, after others MODEL.EPOCH.safetensors.
class Saver {
 public:
  Saver(const CommandLine& line, const Request& request) : line_(line), request_(request) {}

  void operator()(std::int64_t epoch, Parameters& now) const {
    if (!line_.has("save")) return;
    if (request_.save_at.contains(epoch)) write(at(line_.text("save"), epoch), now);
    if (epoch == request_.config.train.epochs) write(line_.text("save"), now);
  }
  static std::filesystem::path at(std::filesystem::path file, std::int64_t epoch) {
    const std::string extension = file.extension();
    return file.replace_extension(fmt::format(".{}{}", epoch, extension));
  }

 private:
  void write(const std::filesystem::path& to, Parameters& now) const {
    StoredModel model{toml_text(request_.keys, {request_.config, {}, {}}),
                      {{"trial", id(request_.keys, request_.config)}},
                      tensors(now, &Parameters::value)};
    for (const auto& [key, value] : provenance(line_)) model.remarks["provenance." + key] = text(value);
    write_model(to, model);
  }

  const CommandLine& line_;
  const Request& request_;
};

/// Prints a line an epoch and saves. A trial that leaves nothing but these lines stops when nobody reads
/// them, any trial when `stop` says so.
class Printer : public Sink {
 public:
  Printer(bool is_kept, Saver save, Stop stop) : is_kept_(is_kept), save_(save), stop_(std::move(stop)) {}

  void epoch(const History& h) override {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    if (!std::exchange(has_header_, true)) write(fmt::format("{}  {:>8}\n", epoch_header(h), "seconds"));
    write(fmt::format("{}  {:>8.1f}\n", epoch_line(h, h.step.size() - 1), seconds.count()));
  }
  bool stop() override { return (closed_ && !is_kept_) || stop_(); }
  void trained(std::int64_t epoch, Parameters& now) override { save_(epoch, now); }

  void write(const std::string& text) { closed_ = closed_ || !console::offer(text); }

 private:
  bool is_kept_, closed_ = false, has_header_ = false;
  Saver save_;
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

int only_print(const CommandLine& line, const Request& r) {
  Printer printer(line.has("save"), Saver(line, r), [] { return false; });
  const Outcome outcome = train(r.config, printer, {}, r.parameters());
  say_result(printer, record_of(r.keys, r.config, outcome), outcome);
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

int keep(const CommandLine& line, const Request& r) {
  const std::string out = line.text("out");
  Interruption interruption;
  Printer printer(true, Saver(line, r), [&] { return interruption.signal() != 0; });
  hdf5::Values shared = provenance(line);
  shared["start"] = timestamp();
  const Checkpointing checkpointing{.file = checkpoint_beside(out, id(r.keys, r.config)),
                                    .every = r.checkpoint_every,
                                    .note = [](const std::string& text) { console::notes({text}); }};
  const Outcome outcome = checkpointed_training(r.keys, r.config, printer, checkpointing, r.parameters());
  if (outcome.status == Status::interrupted)
    return say_stopped(checkpointing.file), exit_code_of(interruption.signal());
  shared["end"] = timestamp();
  TrialRecord record = record_of(r.keys, r.config, outcome);
  record.provenance.merge(shared);
  write_timed(out, record);
  forget_checkpoint(checkpointing.file);
  say_result(printer, record, outcome);
  return done;
}

void require_beside(CommandLine& line, const char* option, const char* other) {
  if (line.has(option) && !line.has(other))
    line.keys.faults.push_back(fmt::format("--{}: wants --{}", option, other));
}

/// The epochs of --save-at.
std::set<std::int64_t> save_at(CommandLine& line) {
  std::set<std::int64_t> epochs;
  std::vector<double> given;
  read(line, "save-at", at_least(0), given);
  for (const double epoch : given) {
    epochs.insert(static_cast<std::int64_t>(epoch));
    if (std::floor(epoch) != epoch)
      line.keys.faults.push_back(fmt::format("--save-at: {} is not an epoch", number(epoch)));
  }
  return epochs;
}

/// All of the model but dropout is as the file has it.
void require_same_model(const Keys& keys, const Config& config, const Config& of_file,
                        const std::string& file) {
  for (const Key& key : keys)
    if (key.name.starts_with("model.") && key.name != "model.dropout" && !key.inert(config))
      require(key.get(config) == key.get(of_file), "{}: {} is not {}, as in {}", key.name,
              text(key.get(config)), text(key.get(of_file)), file);
}

/// With the settings of the model that --from names, its parameters and their digest.
void start_from(const CommandLine& line, Request& r) {
  const std::string file = line.text("from");
  LoadedModel model = load_model(file, r.keys);
  Source first = read_toml(model.stored.configuration, file);
  std::erase_if(first.settings, [](const Setting& s) { return s.name == "init.source"; });
  r.config = configuration(line, r.keys, first).config;
  require_same_model(r.keys, r.config, model.resolved.config, file);
  r.config.model.converted = model.resolved.config.model.converted;
  const std::string source = digest(model.stored.parameters);
  require(r.config.init.source.empty() || r.config.init.source == source,
          "init.source: {} is not {}, that of {}", r.config.init.source, source, file);
  r.config.init.source = source;
  r.start = std::move(model.stored.parameters);
}

Request request(CommandLine& line) {
  Request r;
  r.keys = all_keys();
  for (const char* output : {"out", "save"}) check_output(line, output);
  read(line, "checkpoint-every", r.checkpoint_every);
  require_beside(line, "checkpoint-every", "out");
  require_beside(line, "save-at", "save");
  r.save_at = save_at(line);
  if (line.has("from"))
    start_from(line, r);
  else
    r.config = configuration(line, r.keys).config;
  return r;
}

int run(const CommandLine& given) {
  CommandLine line = given;
  dnn::single_threaded();
  const Request r = request(line);
  return line.has("out") ? keep(line, r) : only_print(line, r);
}

}  // namespace

Command train_command() {
  return {
      .name = "train",
      .operands = "[FILE.toml] [--KEY VALUE]...",
      .help = "train one model, a line an epoch",
      .details =
          "Accuracies are shares of right answers; validation@0.5 is at half the task's length.\n"
          "--from takes the model's configuration, then yours; training starts anew with its parameters,\n"
          "--train.epochs 0 only tests them.\n"
          "With --out, a training of some seconds that is stopped, by ^C or its end of time, leaves\n"
          "RUN.h5.ID.checkpoint, and the same command goes on from there, to the same bits.",
      .example = "headlab train --task.name mode --model.architecture nap --model.dim 16 --lr 1e-3",
      .most = 1,
      .keys = true,
      .options = {{"out", "RUN.h5", "keep all that is measured in this file; without it nothing is kept"},
                  {"save", "MODEL.safetensors", "write the trained model there"},
                  {"save-at", "E,..",
                   "with --save, also after these epochs, as MODEL.E.safetensors; 0: before the first step"},
                  {"from", "MODEL.safetensors", "start with this model, trained or converted"},
                  {"checkpoint-every", "D",
                   "with --out, keep a checkpoint this often: 90s, 10m (which holds without it), 2h"},
                  {"force", "", "let it replace a file that is there"}},
      .run = run};
}

}  // namespace headlab
