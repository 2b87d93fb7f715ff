#include "experiments/bench_report.hpp"

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "experiments/console.hpp"

namespace headlab {
namespace {

using Row = std::vector<std::string>;

constexpr double milli = 1e-3, giga = 1e9;

Row header(const std::string& name, const std::vector<std::string>& columns) {
  Row row{name};
  for (const std::string& column : columns) row.push_back(fmt::format("{:>11}", column));
  return row;
}
std::string milliseconds(double seconds) { return fmt::format("{:>11.3f}", seconds / milli); }
std::string percent(double share) { return fmt::format("{:>9.1f} %", 100 * share); }

Row times(const std::string& name, const Repeats& repeats) {
  return {name, milliseconds(repeats.best()), milliseconds(repeats.median())};
}
Row times(const std::string& name, const Repeats& repeats, double operations, const StepSpeed& s) {
  Row row = times(name, repeats);
  row.push_back(fmt::format("{:>11.1f}", speed(operations, repeats) / giga));
  row.push_back(percent(speed(operations, repeats) / speed(s.peak_operations, s.peak)));
  return row;
}

std::string phases(const StepSpeed& s) {
  std::vector<Row> rows{header("", {"best, ms", "median, ms", "GFLOP/s", "of peak", "of products"}),
                        times("step", s.step, s.step_operations, s),
                        times("  data", s.data),
                        times("  forward and backward", s.gradients),
                        times("  norm, clipping, Adam", s.update),
                        times("evaluation of a batch", s.evaluation, s.forward_operations, s),
                        times("products of weights alone", s.products, s.weight_operations, s)};
  rows[1].push_back(percent(share_of_products(s)));
  return console::table(rows, 0);
}

std::string parts(const StepSpeed& s) {
  std::vector<Row> rows{header("part of the step", {"forward, ms", "backward", "both", "share"})};
  for (const StepPart& part : parts_of(s.observed)) {
    rows.push_back({part.name});
    for (const auto& pass : {part.forward, part.backward})
      rows.back().push_back(pass ? milliseconds(*pass) : "");
    rows.back().push_back(milliseconds(part.seconds));
    rows.back().push_back(percent(part.seconds / s.observed.whole));
  }
  return console::table(rows, 0);
}

nlohmann::ordered_json json_of(const Repeats& repeats) {
  return {{"best_ms", repeats.best() / milli}, {"median_ms", repeats.median() / milli}};
}
nlohmann::ordered_json json_of(const Repeats& repeats, double operations, const StepSpeed& s) {
  nlohmann::ordered_json all = json_of(repeats);
  all["operations"] = operations;
  all["gflops"] = speed(operations, repeats) / giga;
  all["share_of_peak"] = speed(operations, repeats) / speed(s.peak_operations, s.peak);
  return all;
}

std::string counted(auto count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Others that want the processor stretch the parts, whose clock is the wall's, but not the rest.
std::string remark(const StepSpeed& s) {
  if (s.observed.whole < 1.2 * s.step.best()) return "";
  return "the processor was shared meanwhile, and parts are too large: measure again\n";
}

}  // namespace

double speed(double operations, const Repeats& repeats) { return operations / repeats.best(); }

double share_of_products(const StepSpeed& s) {
  return speed(s.step_operations, s.step) / speed(s.weight_operations, s.products);
}

std::vector<StepPart> parts_of(const ObservedStep& step) {
  std::vector<StepPart> all{{"data", {}, {}, step.data}};
  const auto names = split(words(LayerKind{}));
  for (std::size_t kind = 0; kind < layer_kinds; ++kind) {
    const double forward = step.layers.forward[kind], backward = step.layers.backward[kind];
    if (forward + backward > 0)
      all.push_back({std::string(names[kind]), forward, backward, forward + backward});
  }
  all.push_back({"norm, clipping", {}, {}, step.norm_and_clipping});
  all.push_back({"Adam", {}, {}, step.adam});
  all.push_back({"rest", {}, {}, step.rest()});
  return all;
}

std::string bench_text(const StepSpeed& s) {
  return fmt::format(
      "{} parameters, {:.3g} GFLOP a step, {:.3g} of them of weights; {} of {};\n"
      "FMA peak {:.1f} GFLOP/s\n\n{}\n{}the whole, timed layer by layer, {:.3f} ms: {:+.1f} %\n{}",
      grouped(s.parameters), s.step_operations / giga, s.weight_operations / giga,
      counted(s.step.seconds.size(), "round"), counted(s.steps, "step"),
      speed(s.peak_operations, s.peak) / giga, phases(s), parts(s), s.observed.whole / milli,
      100 * (s.observed.whole / s.step.best() - 1), remark(s));
}

nlohmann::ordered_json bench_json(const StepSpeed& s) {
  nlohmann::ordered_json all{{"parameters", s.parameters},
                             {"rounds", s.step.seconds.size()},
                             {"steps_a_round", s.steps},
                             {"peak_gflops", speed(s.peak_operations, s.peak) / giga},
                             {"step", json_of(s.step, s.step_operations, s)},
                             {"data", json_of(s.data)},
                             {"forward_and_backward", json_of(s.gradients)},
                             {"update", json_of(s.update)},
                             {"evaluation", json_of(s.evaluation, s.forward_operations, s)},
                             {"products", json_of(s.products, s.weight_operations, s)},
                             {"observed_step_ms", s.observed.whole / milli},
                             {"parts", nlohmann::ordered_json::array()}};
  all["step"]["share_of_products"] = share_of_products(s);
  for (const StepPart& part : parts_of(s.observed)) {
    nlohmann::ordered_json one{{"part", part.name}, {"ms", part.seconds / milli}};
    if (part.forward) one["forward_ms"] = *part.forward / milli;
    if (part.backward) one["backward_ms"] = *part.backward / milli;
    all["parts"].push_back(std::move(one));
  }
  return all;
}

}  // namespace headlab
