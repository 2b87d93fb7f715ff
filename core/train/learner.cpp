#include "core/train/learner.hpp"

#include <algorithm>
#include <numeric>

#include "core/model/initialise.hpp"
#include "core/model/model.hpp"
#include "core/train/optimiser.hpp"
#include "core/train/schedule.hpp"

namespace headlab {

Index chunk_size(Index length) { return std::max<Index>(1, 256 / length); }

Learner::Learner(const Config& config)
    : config_(config), form_(task(config.task.name).form(config)), build_(model(config, form_)) {
  plan({config.task.length, std::min(chunk_size(config.task.length), config.train.batch)});
  initialise(parameters_, config);
  batch_.count = config.train.batch;
  batch_.length = config.task.length;
}

Plan& Learner::plan(Chunk chunk) {
  return plans_.try_emplace({chunk.length, chunk.sequences}, parameters_, chunk, build_).first->second;
}

/// Runs the chunks one by one, each followed by then(plan).
bool Learner::forward(const Sequences& all, std::optional<Masks> masks, const std::function<bool()>& stop,
                      const EachChunk& then) {
  const Index size = chunk_size(all.length), answers = std::ssize(all.labels) / std::max<Index>(all.count, 1);
  const auto part = [](const std::vector<std::int32_t>& v, Index first, Index n) {
    return std::span(v).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
  };
  for (Index first = 0; first < all.count; first += size) {
    if (stop()) return false;
    const Index n = std::min(size, all.count - first);
    Plan& p = plan({all.length, n});
    p.work.tokens = part(all.tokens, first * all.length, n * all.length);
    p.work.labels = part(all.labels, first * answers, n * answers);
    if (masks) masks->first = first;
    p.work.masks = masks;
    p.forward();
    then(p);
  }
  return true;
}

std::optional<Measured> Learner::measure(const Sequences& all, const std::optional<Masks>& masks,
                                         const std::function<bool()>& stop, const EachChunk& then) {
  Measured m;
  const bool whole = forward(all, masks, stop, [&](Plan& p) {
    m.loss += p.work.loss;
    m.answers.insert(m.answers.end(), p.work.answers.begin(), p.work.answers.end());
    then(p);
  });
  if (!whole) return {};
  const auto n = static_cast<double>(m.answers.size());
  m.loss /= n;
  m.accuracy = std::inner_product(m.answers.begin(), m.answers.end(), all.labels.begin(), 0., std::plus<>(),
                                  std::equal_to<>()) /
               n;
  return m;
}

const Sequences& Learner::batch(std::int64_t s) {
  sequences(config_, Purpose::training, static_cast<std::uint64_t>(s), batch_);
  return batch_;
}

std::optional<Measured> Learner::differentiate(std::int64_t s, const Sequences& batch,
                                               const std::function<bool()>& stop) {
  const Masks masks{static_cast<std::uint64_t>(config_.seed), static_cast<std::uint64_t>(s), 0};
  parameters_.zero_gradients();
  auto measured =
      measure(batch, masks, stop, [weight = 1.F / static_cast<float>(batch.labels.size())](Plan& p) {
        p.work.answer_weight = weight;
        p.backward();
      });
  if (measured) add_l2(parameters_, config_.train.l2);
  return measured;
}

void Learner::update(std::int64_t s, double norm) {
  clip(parameters_, config_.train, norm);
  adam(parameters_, learning_rate(config_.train, s), s + 1);
}

std::optional<Measured> Learner::evaluate(const Sequences& all, const std::function<bool()>& stop) {
  return measure(all, {}, stop, [](Plan&) {});
}

void Learner::each_chunk(const Sequences& all, const std::function<void(Plan&)>& then) {
  forward(all, {}, [] { return false; }, then);
}

std::vector<float> Learner::logits(const Sequences& all) {
  std::vector<float> logits;
  each_chunk(all, [&](Plan& p) {
    const Matrix m = p.context().value(p.ends().output);
    for (Index c = 0; c < m.cols; ++c)  // an answer's logits lie in a column, or one in each of N columns
      for (Index r = 0; r < m.rows; ++r) logits.push_back(m(r, c));
  });
  return logits;
}

}  // namespace headlab
