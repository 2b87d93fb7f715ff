#include "core/train/trainer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/base/stopwatch.hpp"
#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"

namespace headlab {
namespace {

/// Thrown out of a trial that ends before its last epoch.
struct Ended {
  Status status;
  std::string message;
};

const Measured not_evaluated{
    std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(), {}};

/// The sequences that a trial is judged by: the same for all trials with its seed and task.
struct Sets {
  std::vector<Sequences> validation, balanced, test;
};

/// What an epoch's evaluation adds to a History.
struct Evaluated {
  std::vector<double> validation_loss{}, validation_accuracy{};
  std::vector<std::int32_t> case_correct{}, case_total{};
};

class Trial {
 public:
  Trial(const Config& config, Sink& sink, std::optional<Checkpoint> from, const Tensors* parameters)
      : config_(config), task_(task(config.task.name)), sink_(sink), learner_(config) {
    history_.relative_length = config.eval.relative_lengths;
    if (!task_.cases.empty() && config.eval.case_sequences > 0) {
      history_.case_length.assign(case_lengths.begin(), case_lengths.end());
      history_.case_name = task_.cases;
    }
    if (parameters) restore(learner_.parameters(), &Parameters::value, *parameters);
    if (from) go_on_from(*std::move(from));
    draw_sets();
  }

  Outcome run() {
    try {
      for (std::int64_t epoch = evaluated_epochs() + 1; epoch <= config_.train.epochs; ++epoch) {
        if (step_ == 0) sink_.trained(0, learner_.parameters());
        train_until(epoch * config_.train.steps_per_epoch);
        if (epoch < config_.train.epochs) sink_.trained(epoch, learner_.parameters());
        append(epoch, evaluate(evaluates(config_, epoch)));
        sink_.epoch(history_);
      }
      sink_.trained(config_.train.epochs, learner_.parameters());
      run_test();
      outcome_.status = Status::done;
    } catch (const Ended& end) {
      outcome_.status = end.status;
      outcome_.message = end.message;
      if (end.status == Status::interrupted) offer_checkpoint();
    }
    report();
    return std::move(outcome_);
  }

 private:
  std::int64_t evaluated_epochs() const { return std::ssize(history_.step); }

  void go_on_from(Checkpoint from) {
    const std::int64_t epochs = std::ssize(from.history.step),
                       behind = from.step - epochs * config_.train.steps_per_epoch;
    require(epochs <= config_.train.epochs && behind >= 0 && behind <= config_.train.steps_per_epoch,
            "[train] a checkpoint of {} epochs cannot be at step {}", epochs, from.step);
    Parameters& to = learner_.parameters();
    restore(to, &Parameters::value, from.value);
    restore(to, &Parameters::moment1, from.moment1);
    restore(to, &Parameters::moment2, from.moment2);
    step_ = from.step;
    unfinished_ = from.unfinished;
    history_ = std::move(from.history);
    outcome_.seconds = from.seconds;
  }
  /// What is trained is of the last whole step, whatever was stopped.
  void offer_checkpoint() {
    if (!sink_.wants_checkpoint()) return;
    Parameters& now = learner_.parameters();
    sink_.checkpoint({step_, tensors(now, &Parameters::value), tensors(now, &Parameters::moment1),
                      tensors(now, &Parameters::moment2), unfinished_, history_, outcome_.seconds});
  }

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

  const Sequences& batch(std::int64_t s) {
    const Stopwatch watch(outcome_.seconds.data);
    return learner_.batch(s);
  }
  static Measured finished(std::optional<Measured> measured) {
    if (!measured) throw Ended{Status::interrupted, "stopped"};
    return *std::move(measured);
  }

  void train_until(std::int64_t step) {
    while (step_ < step) {
      make_step(step_);
      ++step_;
      offer_checkpoint();
    }
  }
  void make_step(std::int64_t s) {
    const Sequences& sequences = batch(s);
    const Stopwatch watch(outcome_.seconds.training);
    const Measured m = finished(learner_.differentiate(s, sequences, [&] { return sink_.stop(); }));
    const double norm = gradient_norm(learner_.parameters());
    expect_finite("loss", m.loss, s);
    expect_finite("gradient norm", norm, s);
    learner_.update(s, norm);
    const auto n = static_cast<double>(config_.train.steps_per_epoch);
    unfinished_.loss += m.loss / n;
    unfinished_.accuracy += m.accuracy / n;
    unfinished_.gradient_norm += norm / n;
  }
  static void expect_finite(const char* what, double value, std::int64_t step) {
    if (std::isfinite(value)) return;
    const char* found = std::isnan(value) ? "NaN" : value > 0 ? "infinite" : "-infinite";
    throw Ended{Status::diverged, fmt::format("{} is {} at step {}", what, found, step)};
  }

  Measured evaluate(const Sequences& set) {
    if (set.count == 0) return not_evaluated;
    const Stopwatch watch(outcome_.seconds.evaluation);
    return finished(learner_.evaluate(set, [&] { return sink_.stop(); }));
  }
  Evaluated evaluate(bool now) {
    Evaluated row;
    for (const Sequences& set : sets_.validation) {
      const Measured m = now ? evaluate(set) : not_evaluated;
      row.validation_loss.push_back(m.loss);
      row.validation_accuracy.push_back(m.accuracy);
    }
    for (const Sequences& set : sets_.balanced)
      count_cases(row, set, now ? evaluate(set).answers : std::vector<std::int32_t>());
    return row;
  }
  /// Of each case, the right answers and all answers of its sequences; -1 where there are none.
  void count_cases(Evaluated& row, const Sequences& set, const std::vector<std::int32_t>& answers) const {
    const std::size_t each = set.labels.size() / static_cast<std::size_t>(set.count);
    for (std::size_t k = 0; k < task_.cases.size(); ++k) {
      std::int32_t correct = 0, total = 0;
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const bool counts = set.cases[i / each] >> k & 1U;
        total += counts;
        correct += counts && answers[i] == set.labels[i];
      }
      row.case_correct.push_back(answers.empty() ? -1 : correct);
      row.case_total.push_back(answers.empty() ? -1 : total);
    }
  }
  void append(std::int64_t epoch, const Evaluated& row) {
    const std::int64_t steps = epoch * config_.train.steps_per_epoch;
    const auto add = [](auto& table, const auto& values) {
      table.insert(table.end(), values.begin(), values.end());
    };
    history_.step.push_back(steps);
    history_.sequences_seen.push_back(steps * config_.train.batch);
    history_.train_loss.push_back(unfinished_.loss);
    history_.train_accuracy.push_back(unfinished_.accuracy);
    history_.learning_rate.push_back(learning_rate(config_.train, steps - 1));
    history_.gradient_norm.push_back(unfinished_.gradient_norm);
    add(history_.validation_loss, row.validation_loss);
    add(history_.validation_accuracy, row.validation_accuracy);
    add(history_.case_correct, row.case_correct);
    add(history_.case_total, row.case_total);
    unfinished_ = {};
  }

  void run_test() {
    std::vector<double> loss, accuracy;
    for (const Sequences& set : sets_.test) {
      const Measured m = evaluate(set);
      loss.push_back(m.loss);
      accuracy.push_back(m.accuracy);
    }
    history_.test_loss = std::move(loss);
    history_.test_accuracy = std::move(accuracy);
  }

  void report() {
    outcome_.history = std::move(history_);
    for (const Region& r : learner_.parameters().entries()) outcome_.parameters += r.rows * r.cols;
    outcome_.operations_per_step = std::llround(step_operations(config_));
    outcome_.query_key = query_key_costs(config_);
    outcome_.chance_accuracy = task_.chance(config_, false, config_.task.length);
    outcome_.chance_accuracy_training = task_.chance(config_, true, config_.task.length);
  }

  const Config& config_;
  const Task& task_;
  Sink& sink_;
  Learner learner_;
  Sets sets_;
  std::int64_t step_ = 0;  // steps made
  EpochMeans unfinished_;
  History history_;
  Outcome outcome_;
};

}  // namespace

Outcome train(const Config& config, Sink& sink, std::optional<Checkpoint> from, const Tensors* parameters) {
  require_feasible(config);
  require(config.init.source.empty() || parameters, "init.source: {} is a model's, which only --from reads",
          config.init.source);
  return Trial(config, sink, std::move(from), parameters).run();
}

}  // namespace headlab
