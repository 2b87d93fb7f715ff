#include "core/train/trace.hpp"

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"

namespace headlab {
namespace {

bool every_token(const Learner& learner) { return learner.form().answer == Answer::every_token; }
std::size_t answers(const Learner& learner) { return static_cast<std::size_t>(learner.form().answers); }

Array<float> logits(Learner& learner, const Sequences& s) {
  Array<float> a{{static_cast<std::size_t>(s.count)}, learner.logits(s)};
  if (every_token(learner)) a.shape.push_back(static_cast<std::size_t>(s.length));
  if (answers(learner) > 1) a.shape.push_back(answers(learner));
  a.shape.push_back(a.elements.size() / s.labels.size());
  return a;
}

/// (..., B, N)
Array<std::int32_t> tokens(std::vector<std::int32_t> elements, std::vector<std::size_t> outer,
                           const Sequences& s) {
  for (const std::int64_t extent : {s.count, s.length}) outer.push_back(static_cast<std::size_t>(extent));
  return {std::move(outer), std::move(elements)};
}
/// (..., B), with N where every token answers, and with the answers of a vector that has several.
Array<std::int32_t> labels(std::vector<std::int32_t> elements, std::vector<std::size_t> outer,
                           const Sequences& s, const Learner& learner) {
  outer.push_back(static_cast<std::size_t>(s.count));
  if (every_token(learner)) outer.push_back(static_cast<std::size_t>(s.length));
  if (answers(learner) > 1) outer.push_back(answers(learner));
  return {std::move(outer), std::move(elements)};
}

void append(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// Makes step s and notes it.
void make_step(Learner& learner, const Config& config, std::int64_t s, Trace& trace) {
  const Sequences& batch = learner.batch(s);
  const auto measured = learner.differentiate(s, batch, [] { return false; });
  const double norm = gradient_norm(learner.parameters());
  if (s == 0) trace.first.gradients = tensors(learner.parameters(), &Parameters::gradient);
  learner.update(s, norm);
  append(trace.steps.tokens.elements, batch.tokens);
  append(trace.steps.labels.elements, batch.labels);
  trace.steps.loss.push_back(measured->loss);
  trace.steps.learning_rate.push_back(learning_rate(config.train, s));
  trace.steps.gradient_norm.push_back(norm);
}

Trace::Evaluation evaluation(Learner& learner, const Config& config, double relative_length) {
  const std::int64_t length = length_at(config, relative_length);
  const Sequences s =
      sequences(config, Purpose::validation, static_cast<std::uint64_t>(length), config.train.batch, length);
  return {tokens(s.tokens, {}, s), labels(s.labels, {}, s, learner), logits(learner, s)};
}

}  // namespace

Trace trace(const Config& config, std::int64_t steps) {
  const std::int64_t all = config.train.epochs * config.train.steps_per_epoch;
  require(config.model.dropout == 0, "model.dropout: {} is not 0, as a trace needs it", config.model.dropout);
  require(steps >= 1 && steps <= all, "--steps: {} is not in [1, {}], the steps of the schedule", steps, all);
  require_feasible(config);
  Learner learner(config);
  const Sequences first = learner.batch(0);
  Trace trace;
  trace.initial = tensors(learner.parameters(), &Parameters::value);
  trace.first.logits = logits(learner, first);
  for (std::int64_t s = 0; s < steps; ++s) make_step(learner, config, s, trace);
  const std::vector<std::size_t> outer{static_cast<std::size_t>(steps)};
  trace.steps.tokens = tokens(std::move(trace.steps.tokens.elements), outer, first);
  trace.steps.labels = labels(std::move(trace.steps.labels.elements), outer, first, learner);
  trace.final = tensors(learner.parameters(), &Parameters::value);
  for (const double relative : config.eval.relative_lengths)
    trace.evaluation[number(relative)] = evaluation(learner, config, relative);
  return trace;
}

}  // namespace headlab
