#include "core/train/trace.hpp"

#include "core/base/error.hpp"
#include "core/train/cost.hpp"
#include "core/train/learner.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"

namespace headlab {
namespace {

Tensors tensors(Parameters& parameters, Block Parameters::*block) {
  Tensors all;
  for (const Region& r : parameters.entries()) {
    Tensor<float>& t = all[r.name];
    t.shape = {static_cast<std::size_t>(r.rows), static_cast<std::size_t>(r.cols)};
    const Matrix m = at(parameters.*block, r);
    for (Index i = 0; i < r.rows; ++i) t.data.insert(t.data.end(), m.row(i), m.row(i) + r.cols);
  }
  return all;
}

Tensor<float> logits(Learner& learner, const Sequences& s) {
  Tensor<float> t{{static_cast<std::size_t>(s.count)}, learner.logits(s)};
  if (learner.form().answer == Answer::every_token) t.shape.push_back(static_cast<std::size_t>(s.length));
  t.shape.push_back(t.data.size() / s.labels.size());
  return t;
}

/// (..., B, N), and labels without the last axis where a sequence has one answer.
Tensor<std::int32_t> tensor(std::vector<std::int32_t> data, std::vector<std::size_t> outer, const Sequences& s,
                            bool a_token) {
  outer.push_back(static_cast<std::size_t>(s.count));
  if (a_token) outer.push_back(static_cast<std::size_t>(s.length));
  return {std::move(outer), std::move(data)};
}

void append(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// Makes step s and notes it.
void make_step(Learner& learner, const Config& config, std::int64_t s, const Sequences& batch, Trace& trace) {
  const auto measured = learner.differentiate(batch, [] { return false; });
  const double norm = gradient_norm(learner.parameters());
  if (s == 0) trace.first_gradients = tensors(learner.parameters(), &Parameters::gradient);
  learner.update(s, norm);
  append(trace.tokens.data, batch.tokens);
  append(trace.labels.data, batch.labels);
  trace.loss.push_back(measured->loss);
  trace.learning_rate.push_back(learning_rate(config.train, s));
  trace.gradient_norm.push_back(norm);
}

Trace::Evaluation evaluation(Learner& learner, const Config& config, double relative_length) {
  const std::int64_t length = length_at(config, relative_length);
  const Sequences s = sequences(config, Purpose::validation, static_cast<std::uint64_t>(length),
                                config.train.batch, length);
  const bool every_token = learner.form().answer == Answer::every_token;
  return {relative_length, tensor(s.tokens, {}, s, true), tensor(s.labels, {}, s, every_token),
          logits(learner, s)};
}

}  // namespace

Trace trace(const Config& config, std::int64_t steps) {
  const std::int64_t all = config.train.epochs * config.train.steps_per_epoch;
  require(config.model.dropout == 0, "model.dropout: {} is not 0, as a trace needs it", config.model.dropout);
  require(steps >= 1 && steps <= all, "steps: {} is not in [1, {}], the steps of the schedule", steps, all);
  Learner learner(config);
  Trace trace;
  trace.initial = tensors(learner.parameters(), &Parameters::value);
  const Sequences first = learner.batch(0);
  trace.first_logits = logits(learner, first);
  for (std::int64_t s = 0; s < steps; ++s) make_step(learner, config, s, learner.batch(s), trace);
  const std::vector<std::size_t> outer{static_cast<std::size_t>(steps)};
  trace.tokens = tensor(std::move(trace.tokens.data), outer, first, true);
  trace.labels = tensor(std::move(trace.labels.data), outer, first,
                        learner.form().answer == Answer::every_token);
  trace.final = tensors(learner.parameters(), &Parameters::value);
  for (const double relative : config.eval.relative_lengths)
    trace.evaluations.push_back(evaluation(learner, config, relative));
  return trace;
}

}  // namespace headlab
