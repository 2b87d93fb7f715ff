#include "core/bench/step_speed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/bench/bare_products.hpp"
#include "core/kernels/multiply_adds.hpp"
#include "core/model/operations.hpp"
#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"

namespace headlab {
namespace {

constexpr double turn_seconds = .02;
constexpr Index peak_times = 100'000;

bool go_on() { return false; }  // what a learner asks before each chunk: whether to stop

class StepBench {
 public:
  explicit StepBench(const Config& config)
      : config_(config), learner_(config), fixed_batch_(learner_.batch(0)) {
    speed_.step_operations = step_operations(config);
    speed_.forward_operations =
        forward_operations(config, learner_.form(), double(config.train.batch), double(config.task.length));
    speed_.peak_operations = kernels::multiply_adds().operations * double(peak_times);
    for (const Region& r : parameters().entries()) speed_.parameters += r.rows * r.cols;
  }

  StepSpeed run(const Effort& effort) {
    warm_up();
    double spent = 0;
    for (Index round = 0; round < effort.rounds; ++round) {
      if (round > 0 && spent * double(round + 1) / double(round) > effort.seconds) break;
      const Stopwatch watch(spent);
      take_turns();
    }
    return std::move(speed_);
  }

 private:
  void warm_up() {
    step();
    const Phases took = step();
    speed_.steps =
        std::max<Index>(1, std::llround(turn_seconds / (took.data + took.gradients + took.update)));
    const Index size = chunk_size(fixed_batch_.length);
    for (Index first = 0; first < fixed_batch_.count; first += size) {
      plans_.push_back(&learner_.plan({fixed_batch_.length, std::min(size, fixed_batch_.count - first)}));
      products_.emplace_back(*plans_.back());
      speed_.weight_operations += products_.back().operations();
    }
  }

  void take_turns() {
    time(speed_.peak, 1, [] { kernels::multiply_adds().run(peak_times); });
    time_steps();
    time(speed_.evaluation, speed_.steps, [&] { learner_.evaluate(fixed_batch_, go_on); });
    time(speed_.products, speed_.steps, [&] {
      for (const BareProducts& chunk : products_) chunk.run();
    });
    const ObservedStep observed = observe_steps();
    if (speed_.step.seconds.size() == 1 || observed.whole < speed_.observed.whole) speed_.observed = observed;
  }
  template <class Action>
  static void time(Repeats& repeats, Index times, const Action& action) {
    double seconds = 0;
    {
      const ProcessorStopwatch watch(seconds);
      for (Index i = 0; i < times; ++i) action();
    }
    repeats.seconds.push_back(seconds / double(times));
  }

  void time_steps() {
    Phases sum;
    time(speed_.step, speed_.steps, [&] {
      const Phases took = step();
      sum.data += took.data, sum.gradients += took.gradients, sum.update += took.update;
    });
    const auto steps = double(speed_.steps);
    speed_.data.seconds.push_back(sum.data / steps);
    speed_.gradients.seconds.push_back(sum.gradients / steps);
    speed_.update.seconds.push_back(sum.update / steps);
  }
  struct Phases {
    double data = 0, gradients = 0, update = 0;
  };
  Phases step() {
    Phases took;
    const std::int64_t s = next_step();
    differentiate(s, took.data, took.gradients);
    const ProcessorStopwatch watch(took.update);
    learner_.update(s, gradient_norm(parameters()));
    return took;
  }
  void differentiate(std::int64_t s, double& data, double& gradients) {
    const Sequences* batch = nullptr;
    {
      const ProcessorStopwatch watch(data);
      batch = &learner_.batch(s);
    }
    const ProcessorStopwatch watch(gradients);
    learner_.differentiate(s, *batch, go_on);
  }
  /// From the start again after the last one, beyond which no learning rate is known.
  std::int64_t next_step() { return steps_++ % (config_.train.epochs * config_.train.steps_per_epoch); }

  /// Means over the steps of a round, of the wall clock, which a layer reads for a tenth of the cost.
  ObservedStep observe_steps() {
    ObservedStep sum;
    for (Plan* plan : plans_) plan->seconds = &sum.layers;
    {
      const Stopwatch watch(sum.whole);
      for (Index i = 0; i < speed_.steps; ++i) observe_step(sum);
    }
    for (Plan* plan : plans_) plan->seconds = nullptr;
    for (double* each : {&sum.whole, &sum.data, &sum.norm_and_clipping, &sum.adam})
      *each /= double(speed_.steps);
    for (auto* pass : {&sum.layers.forward, &sum.layers.backward})
      for (double& each : *pass) each /= double(speed_.steps);
    return sum;
  }
  void observe_step(ObservedStep& sum) {
    const std::int64_t s = next_step();
    double gradients = 0;  // whose layers are timed
    differentiate(s, sum.data, gradients);
    {
      const Stopwatch watch(sum.norm_and_clipping);
      clip(parameters(), config_.train, gradient_norm(parameters()));
    }
    const Stopwatch watch(sum.adam);
    adam(parameters(), learning_rate(config_.train, s), s + 1);
  }
  Parameters& parameters() { return learner_.parameters(); }

  Config config_;
  Learner learner_;
  Sequences fixed_batch_;
  std::vector<Plan*> plans_;  // of each chunk
  std::vector<BareProducts> products_;
  std::int64_t steps_ = 0;
  StepSpeed speed_;
};

}  // namespace

double Repeats::best() const { return std::ranges::min(seconds); }

double Repeats::median() const {
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double ObservedStep::rest() const {
  const auto sum = [](const auto& all) { return std::accumulate(all.begin(), all.end(), 0.); };
  return whole - data - norm_and_clipping - adam - sum(layers.forward) - sum(layers.backward);
}

StepSpeed measure_step(const Config& config, const Effort& effort) { return StepBench(config).run(effort); }

}  // namespace headlab
