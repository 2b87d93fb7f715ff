#include <chrono>
#include <limits>

#include "core/base/numbers.hpp"
#include "core/base/processor.hpp"
#include "core/base/text.hpp"
#include "core/dnn/speed.hpp"
#include "core/dnn/threads.hpp"
#include "core/log/atomic_file.hpp"
#include "core/train/cost.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/dry_run.hpp"
#include "experiments/interruption.hpp"
#include "experiments/listing.hpp"
#include "experiments/plan_file.hpp"
#include "experiments/provenance.hpp"
#include "experiments/sharding.hpp"
#include "sweeps/checkpoints.hpp"
#include "sweeps/claims.hpp"
#include "sweeps/forecast.hpp"
#include "sweeps/memory.hpp"
#include "sweeps/processors.hpp"
#include "sweeps/selection.hpp"

namespace headlab {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

SweepPlan plan_of(const Keys& keys, const CommandLine& line) {
  if (line.operands.empty()) line.raise();
  const std::string& file = line.operands.front();
  require(std::filesystem::is_regular_file(file), "{}: not a file that can be read", visible(file));
  return make_plan(keys, read_bytes(file), file, {line.text("budget"), line.keys});
}

/// What the command line says of how a sweep runs; times count from `start`.
struct Limits {
  std::int64_t jobs = available_processors();
  std::int64_t max_failures = std::numeric_limits<std::int64_t>::max();
  Seconds trial_timeout{std::numeric_limits<double>::infinity()}, walltime = trial_timeout;
  Seconds checkpoint_every = headlab::checkpoint_every;
  double start = seconds_now();
};
Limits limits_of(CommandLine& line) {
  Limits limits;
  read(line, "jobs", between(1, 4096), limits.jobs);
  read(line, "max-failures", at_least(1), limits.max_failures);
  read(line, "trial-timeout", limits.trial_timeout);
  read(line, "walltime", limits.walltime);
  read(line, "checkpoint-every", limits.checkpoint_every);
  return limits;
}

RunOptions options_of(const CommandLine& line, const Limits& limits, const std::filesystem::path& folder) {
  RunOptions options{.worker = {"headlab", "worker", "--checkpoints=" + (folder / "checkpoints").native(),
                                fmt::format("--checkpoint-every={}s", limits.checkpoint_every.count())},
                     .cost = trial_operations,
                     .memory = worker_memory};
  options.workers = static_cast<int>(limits.jobs);
  options.keep_trial_files = line.has("keep-trial-files");
  options.max_failures = limits.max_failures;
  options.trial_timeout = limits.trial_timeout.count();
  options.share_left = [checkpoints = folder / "checkpoints"](const PlannedTrial& trial) {
    return share_left(trial, checkpoint_path(checkpoints, trial.id));
  };
  options.time_left = [limits] { return limits.walltime.count() - (seconds_now() - limits.start); };
  return options;
}

/// As many trials at a time as there is memory for.
void cap_workers(const SweepPlan& plan, const Store& store, RunOptions& options) {
  const double available = available_memory();
  const int fit = workers_that_fit(plan, store, options, available);
  if (fit < options.workers)
    console::notes(
        {fmt::format("-j {}, not {}: {} of memory are available, {} trials at a time would fill {}", fit,
                     options.workers, bytes_text(available), options.workers,
                     bytes_text(memory_predicted(plan, store, options, options.workers)))});
  options.workers = fit;
}

int tell_damage(const Store& store) {
  for (const std::string& line : store.damaged()) console::errors(line);
  return store.damaged().empty() ? done : damaged;
}

int dry_run(const Keys& keys, const SweepPlan& plan, const Store& store, const RunOptions& options,
            const CommandLine& line) {
  const Forecast f = forecast(plan, store, options, dnn::product_speed());
  if (line.has("json"))
    show({"sweep", {}, dry_run_json(keys, plan, store, options, f)}, line);
  else
    console::write(trial_lines(keys, plan, store, options) + dry_run_text(plan, store, options, f));
  return tell_damage(store);
}

int run_all(const Keys& keys, const SweepPlan& plan, Store& store, RunOptions& options) {
  Interruption interruption;
  options.stop = [&] { return interruption.signal() != 0; };
  Progress progress(standard_error(), seconds_now);
  options.progress = &progress;
  const RunResult result = run(keys, plan, store, options);
  for (const std::string& fault : result.faults) console::errors(fault);
  console::offer(summary(result.counts, store.folder()) + "\n");
  const int signal = interruption.signal();
  if (signal != 0 || result.exit_code == stopped_early)
    console::notes({"stopped early: the same command goes on from here"});
  return signal != 0 && result.exit_code != damaged ? exit_code_of(signal) : result.exit_code;
}

/// Bits are promised within one kind of processor alone.
void note_other_instructions(const Store& store) {
  const std::string own(to_string(instruction_set()));
  std::map<std::string, std::int64_t> others;  // trials
  for (const auto& [id, known] : store.trials())
    if (!known.instruction_set.empty() && known.instruction_set != own) ++others[known.instruction_set];
  for (const auto& [set, trials] : others)
    console::notes(
        {fmt::format("{}: {} trials there were made with {}, new ones are with {}: a trial is the same bits "
                     "within one only",
                     store.folder().native(), grouped(trials), set, own)});
}

/// Where all is `complete` there is nothing to write, else a folder that cannot be written to is a
/// ConfigError.
bool can_be_written(const std::filesystem::path& folder, bool complete) try {
  const ClaimsFile test(folder);
  return true;
} catch (const ConfigError&) {
  if (!complete) throw;
  return false;
}

int say_complete(const SweepPlan& plan, const Store& store) {
  console::offer(summary(count(plan, store), store.folder()) + "\n");
  return tell_damage(store);
}

int run(const CommandLine& given) {
  CommandLine line = given;
  const Keys keys = all_keys();
  const Limits limits = limits_of(line);
  if (line.has("json") && !line.has("dry-run")) line.keys.faults.emplace_back("--json: wants --dry-run");
  const std::optional<Shard> shard = shard_of(line);
  SweepPlan plan = plan_of(keys, line);
  console::notes(plan.notes);
  std::filesystem::path folder = line.has("out") ? line.text("out") : "results/" + plan.specification.name;
  std::optional<SweepPlan> whole;
  if (shard)
    whole = narrow(*shard, plan, folder);
  else
    note_shards(plan, folder);
  if (plan.trials.empty()) return console::offer(folder.native() + ": has nothing to run\n"), done;
  RunOptions options = options_of(line, limits, folder);
  dnn::single_threaded();  // as workers are, which provenance and checkpoints tell
  {
    const Store before(folder);
    require_scheme(before);
    if (line.has("only")) options.only = selected(line.text("only"), plan, before);
    cap_workers(plan, before, options);
    if (line.has("dry-run")) return dry_run(keys, plan, before, options, line);
    const bool complete = !before.trials().empty() && todo(plan, before, options).empty();
    if (!can_be_written(folder, complete)) return say_complete(plan, before);
    if (!complete) note_other_instructions(before);
  }
  Store store(folder);
  console::offer(summary(count(plan, store), folder) + "\n");
  write_plan(keys, folder, plan, line.text("budget"), "headlab " + quoted(line.words));
  if (whole)
    write_plan(keys, folder, *whole, line.text("budget"), "headlab " + quoted(line.words), sweep_plan_name);
  options.pace = pace_of(plan, store, options, line.has("walltime") ? dnn::product_speed() : usual_speed);
  options.provenance = provenance(line);
  return run_all(keys, plan, store, options);
}

}  // namespace

Command sweep_command() {
  return {
      .name = "sweep",
      .operands = "SPEC.toml [--KEY V[,V...]]...",
      .help = "train all models that a specification names",
      .details =
          "DIR holds trials by id: what is there already is not computed again, what is missing runs.\n"
          "Each trial runs in a process of its own, so that a crash ends that trial alone: it is run once\n"
          "more, by itself, and fails if it crashes again; ten failures in a row stop the sweep.\n"
          "Several such processes of a host may share DIR: each trial is run by one of them.\n"
          "Stopped by ^C, SIGTERM, SIGHUP or SIGUSR1, it goes on where it was when it is started again.",
      .example = "headlab sweep sweeps/specs/demo.toml --out results/demo -j 2",
      .fewest = 1,
      .most = 1,
      .keys = true,
      .options = {{"out", "DIR", "where results are; else results/NAME"},
                  {"jobs,j", "N",
                   "trials at a time, one thread each; else one a processor; fewer if memory is short"},
                  {"budget", "B", "smoke, small or paper: the specification's [budget.B]"},
                  {"dry-run", "", "tell what would run and how long it would take, a line a trial"},
                  {"json", "", "with --dry-run, the same as JSON"},
                  {"only", "ID,..", "these trials; or: failed, @FILE with ids"},
                  {"max-failures", "N", "stop when so many trials have failed"},
                  {"trial-timeout", "D", "a trial that takes longer fails: 90s, 90m, 2h, 1-12:00:00"},
                  {"walltime", "D", "stop after this time, and start no trial that would take longer"},
                  {"checkpoint-every", "D", "how often a trial keeps what it goes on from; else 10m"},
                  {"shard", "i/n", "a part of n, i = 0 ... n-1, in DIR/shards/i-of-n; see headlab merge"},
                  {"keep-trial-files", "", "keep a file a trial, besides results.h5"}},
      .run = run};
}

}  // namespace headlab
