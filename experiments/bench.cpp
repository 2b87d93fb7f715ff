#include "core/base/faults.hpp"
#include "core/base/processor.hpp"
#include "core/dnn/speed.hpp"
#include "core/dnn/threads.hpp"
#include "core/train/cost.hpp"
#include "experiments/bench_report.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"
#include "experiments/listing.hpp"
#include "experiments/stored.hpp"
#include "sweeps/forecast.hpp"
#include "sweeps/plan.hpp"

namespace headlab {
namespace {

constexpr double most_rounds = 1e6;
const std::string of_bench = "headlab bench";  // where what nobody has asked for stands

bool stands_in(const std::vector<SweepAxis>& axes, const std::string& key) {
  return std::ranges::count(axes, key, &SweepAxis::key) > 0;
}
bool stands_in(const Specification& s, const std::string& key) {
  return stands_in(s.base, key) || stands_in(s.grid, key);
}

/// What the file says of keys that the command line leaves to it.
std::vector<SweepAxis> base_of(const Keys& keys, const Source& file, const Specification& line,
                               Faults& faults) {
  std::vector<SweepAxis> base;
  faults.add(file.faults);
  for (const Setting& setting : file.settings)
    if (const Key* key = find(keys, setting.name); key == nullptr)
      faults.add(unknown_key(keys, setting));
    else if (!stands_in(line, key->name))
      base.push_back({key->name, {setting.text}, setting.where});
  return base;
}

/// No trial is evaluated here: sets and lengths of evaluation need not fit the steps.
void leave_out_evaluation(Specification& s) {
  for (const auto& [key, value] : {std::pair{"eval.relative_lengths", "1"},
                                   {"eval.sequences", "0"},
                                   {"eval.case_sequences", "0"},
                                   {"eval.test_sequences", "0"}})
    if (!stands_in(s, key)) s.base.push_back({key, {value}, of_bench});
}

/// The product of the command line's values over the file; without a file over two models at two widths.
SweepPlan plan_of(const Keys& keys, const CommandLine& line) {
  Faults faults;
  Specification s = read_specification(keys, "name = \"bench\"", "bench", {"", line.keys}, faults);
  if (!line.operands.empty()) {
    const std::vector<SweepAxis> base = base_of(keys, read_file(line.operands.front()), s, faults);
    s.base.insert(s.base.end(), base.begin(), base.end());
  } else {
    for (const SweepAxis& axis : {SweepAxis{"model.dim", {"16", "128"}, "command line"},
                                  SweepAxis{"model.architecture", {"mte", "nap"}, "command line"}})
      if (!stands_in(s, axis.key)) s.grid.insert(s.grid.begin(), axis);
  }
  faults.raise();
  leave_out_evaluation(s);
  SweepPlan plan = make_plan(keys, std::move(s));
  std::erase_if(plan.notes, [](const std::string& note) { return note.starts_with(of_bench); });
  console::notes(plan.notes);
  return plan;
}

/// mte: model.dim 128, task.length 128, ..., with what varies.
std::string heading(const Keys& keys, const Specification& s, const Config& config) {
  std::vector<std::string> names{"model.dim", "task.length", "train.batch", "model.layers", "model.heads"};
  for (const SweepAxis& axis : s.grid)
    if (axis.key != "model.architecture" && std::ranges::count(names, axis.key) == 0)
      names.push_back(axis.key);
  std::vector<std::string> all;
  for (const std::string& name : names)
    if (const Key& key = *find(keys, name); !key.inert(config))
      all.push_back(fmt::format("{} {}", name, text(key.get(config))));
  return fmt::format("{}: {}", text(value(config.model.architecture)), fmt::join(all, ", "));
}

nlohmann::ordered_json configuration_json(const Keys& keys, const Config& config) {
  nlohmann::ordered_json all;
  for (const Key& key : keys)
    if (!key.inert(config)) all[key.name] = json_of(key.get(config));
  return all;
}

/// Why a configuration is left out, or "".
std::string too_long(const Config& config, double product_speed, const Effort& effort) {
  const double operations = step_operations(config),
               seconds = operations / (product_speed * usual_share(double(config.model.dim)));
  return seconds <= effort.seconds
             ? ""
             : fmt::format("a step of {:.3g} GFLOP would take some {:.3g} s, more than --seconds {:.3g}",
                           operations * 1e-9, seconds, effort.seconds);
}

/// Measures the configurations one by one, and tells of each as soon as it is done.
class Bench {
 public:
  Bench(const Keys& keys, const SweepPlan& plan, const Effort& effort, bool json)
      : keys_(keys), plan_(plan), effort_(effort), json_(json) {}

  Listing run() {
    console::write(json_ ? "" : machine());
    for (const PlannedTrial& t : plan_.trials) {
      if (const std::string reason = too_long(t.config, product_speed_, effort_); reason.empty())
        measure(t);
      else
        tell(t, reason + ": left out\n", {{"left_out", reason}});
    }
    return std::move(all_);
  }

 private:
  void measure(const PlannedTrial& t) {
    const StepSpeed speed = measure_step(t.config, effort_);
    tell(t, bench_text(speed), bench_json(speed));
  }
  void tell(const PlannedTrial& t, const std::string& text, const nlohmann::ordered_json& measured) {
    if (!json_) return console::print("\n{}\n{}", heading(keys_, plan_.specification, t.config), text);
    nlohmann::ordered_json one{{"id", t.id},
                               {"configuration", configuration_json(keys_, t.config)},
                               {"processor", processor_name()},
                               {"instructions", to_string(instruction_set())},
                               {"large_product_gflops", product_speed_ * 1e-9}};
    one.update(measured);
    all_.json.push_back(std::move(one));
  }
  std::string machine() const {
    return fmt::format("{}, {}, one thread; a product of 128 x 128 x 256: {:.1f} GFLOP/s\n", processor_name(),
                       to_string(instruction_set()), product_speed_ * 1e-9);
  }

  const Keys& keys_;
  const SweepPlan& plan_;
  Effort effort_;
  bool json_;
  double product_speed_ = dnn::product_speed();
  Listing all_{"bench", {}, nlohmann::ordered_json::array()};
};

int run(const CommandLine& given) {
  CommandLine line = given;
  Effort effort;
  read(line, "rounds", between(1, most_rounds), effort.rounds);
  read(line, "seconds", above(0), effort.seconds);
  const Keys keys = all_keys();
  const SweepPlan plan = plan_of(keys, line);
  dnn::single_threaded();
  const Listing listing = Bench(keys, plan, effort, line.has("json")).run();
  if (line.has("json")) show(listing, line);
  return done;
}

}  // namespace

Command bench_command() {
  return {
      .name = "bench",
      .operands = "[FILE.toml] [--KEY V[,V...]]...",
      .help = "time training steps and their parts against the processor's peak",
      .details =
          "Several values of keys are multiplied out. Without a file mte and nap are timed, d = 16 and 128,\n"
          "where --KEY says nothing else. GFLOP/s, and shares of them, are of the best times: of peak, that\n"
          "of multiply-adds in registers; of products, that of the step's products of weights alone, in\n"
          "its order and memory (attention's operations count as much as theirs). Parts: products have the\n"
          "biases of queries, keys, values; norms have GELU, residual sums and all other biases; rest is\n"
          "zeroing of gradients, the L2 term and what is done for each chunk of sequences.",
      .example = "headlab bench --model.architecture mte,nap,sum --model.dim 16,128 --task.length 128",
      .most = 1,
      .keys = true,
      .options = {{"rounds", "N", "of which the best and the median are told (7)"},
                  {"seconds", "S",
                   "for a configuration (5): fewer rounds, and none where one step would take longer"},
                  json_option()},
      .run = run};
}

}  // namespace headlab
