#include "core/train/trainer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"

namespace headlab {
namespace {

/// Adds the time of a scope to a sum of seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

/// Thrown out of a trial that ends before its last epoch.
struct Ended {
  Status status;
  std::string message;
};

/// The sequences that a trial is judged by: the same for all trials with its seed and task.
struct Sets {
  std::vector<Sequences> validation, balanced, test;
};

class Trial {
 public:
  Trial(const Config& config, Sink& sink) : config_(config), task_(task(config.task.name)), sink_(sink), learner_(config) {
    history_.relative_length = config.eval.relative_lengths;
    if (!task_.cases.empty() && config.eval.case_sequences > 0) {
      history_.case_length.assign(case_lengths.begin(), case_lengths.end());
      history_.case_name = task_.cases;
    }
    draw_sets();
  }

  Outcome run() {
    try {
      for (std::int64_t epoch = 1; epoch <= config_.train.epochs; ++epoch) {
        train_epoch(epoch);
        evaluate_epoch(evaluates(config_, epoch));
        sink_.epoch(history_);
      }
      run_test();
      outcome_.status = Status::done;
    } catch (const Ended& end) {
      outcome_.status = end.status;
      outcome_.message = end.message;
    }
    report();
    return std::move(outcome_);
  }

 private:
  void draw_sets() {
    const Stopwatch watch(outcome_.seconds.data);
    const auto set = [&](Purpose purpose, double relative, std::int64_t count) {
      const std::int64_t length = length_at(config_, relative);
      return sequences(config_, purpose, static_cast<std::uint64_t>(length), count, length);
    };
    for (const double relative : history_.relative_length) {
      sets_.validation.push_back(set(Purpose::validation, relative, config_.eval.sequences));
      sets_.test.push_back(set(Purpose::test, relative, config_.eval.test_sequences));
    }
    for (const double relative : history_.case_length)
      sets_.balanced.push_back(task_.balanced(config_, length_at(config_, relative)));
  }

  Sequences batch(std::int64_t s) {
    const Stopwatch watch(outcome_.seconds.data);
    return learner_.batch(s);
  }

  void train_epoch(std::int64_t epoch) {
    const std::int64_t steps = config_.train.steps_per_epoch;
    double loss = 0, accuracy = 0, norms = 0;
    for (std::int64_t s = (epoch - 1) * steps; s < epoch * steps; ++s) {
      const Sequences sequences = batch(s);
      const Stopwatch watch(outcome_.seconds.training);
      const auto measured = finished(learner_.differentiate(sequences, [&] { return sink_.stop(); }));
      const double norm = gradient_norm(learner_.parameters());
      if (!std::isfinite(measured.loss) || !std::isfinite(norm))
        throw Ended{Status::diverged, fmt::format("{} is {} at step {}", std::isfinite(measured.loss) ? "gradient norm" : "loss",
                                                  std::isfinite(measured.loss) ? norm : measured.loss, s)};
      learner_.update(s, norm);
      loss += measured.loss;
      accuracy += measured.accuracy;
      norms += norm;
    }
    const auto n = static_cast<double>(steps);
    history_.step.push_back(epoch * steps);
    history_.sequences_seen.push_back(epoch * steps * config_.train.batch);
    history_.train_loss.push_back(loss / n);
    history_.train_accuracy.push_back(accuracy / n);
    history_.gradient_norm.push_back(norms / n);
    history_.learning_rate.push_back(learning_rate(config_.train, epoch * steps - 1));
  }

  static Measured finished(std::optional<Measured> measured) {
    if (!measured) throw Ended{Status::interrupted, "stopped"};
    return *std::move(measured);
  }
  /// NaN for an empty set.
  Measured evaluate(const Sequences& set) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    if (set.count == 0) return {none, none, {}};
    const Stopwatch watch(outcome_.seconds.evaluation);
    return finished(learner_.evaluate(set, [&] { return sink_.stop(); }));
  }

  void evaluate_epoch(bool now) {
    const Sequences nothing;
    for (const Sequences& set : sets_.validation) {
      const Measured m = evaluate(now ? set : nothing);
      history_.validation_loss.push_back(m.loss);
      history_.validation_accuracy.push_back(m.accuracy);
    }
    for (const Sequences& set : sets_.balanced) count_cases(set, evaluate(now ? set : nothing).answers);
  }

  /// Appends, for each case, the right answers and all answers of its sequences; -1 where there are none.
  void count_cases(const Sequences& set, const std::vector<std::int32_t>& answers) {
    const std::size_t answers_each = answers.size() / static_cast<std::size_t>(set.count);
    for (std::size_t k = 0; k < task_.cases.size(); ++k) {
      std::int32_t correct = 0, total = 0;
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const bool counts = set.cases[i / answers_each] >> k & 1U;
        total += counts;
        correct += counts && answers[i] == set.labels[i];
      }
      history_.case_correct.push_back(answers.empty() ? -1 : correct);
      history_.case_total.push_back(answers.empty() ? -1 : total);
    }
  }

  void run_test() {
    for (const Sequences& set : sets_.test) {
      const Measured m = evaluate(set);
      history_.test_loss.push_back(m.loss);
      history_.test_accuracy.push_back(m.accuracy);
    }
  }

  void report() {
    outcome_.history = std::move(history_);
    for (const Region& r : learner_.parameters().entries()) outcome_.parameters += r.rows * r.cols;
    outcome_.operations_per_step = std::llround(step_operations(config_));
    outcome_.chance_accuracy = task_.chance(config_, config_.task.length);
  }

  const Config& config_;
  const Task& task_;
  Sink& sink_;
  Learner learner_;
  Sets sets_;
  History history_;
  Outcome outcome_;
};

}  // namespace

Outcome train(const Config& config, Sink& sink) { return Trial(config, sink).run(); }

}  // namespace headlab
