#pragma once
// Losses: consumers of the logits without an output slot. forward writes the sum of the answers' losses to
// work.loss and the first argmax of each answer's logits to work.answers; backward takes work.answer_weight
// times that sum as what is differentiated.
#include <cassert>
#include <cmath>

#include "core/kernels/cross_entropy.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

/// -log softmax(logits of a sequence)[label], softmax over the N tokens of each sequence.
///
/// logits: (1, tokens), labels: (sequences), in [0, N).
class TokenCrossEntropy final : public Layer {
 public:
  TokenCrossEntropy(Planner& p, const Slot& logits)
      : length_(p.chunk().length),
        logits_(p.use(logits)),
        exponentials_(p.kept("loss.exponentials", 1)),
        sums_(p.kept("loss.sums", 1, Axis::sequences)) {
    require(logits.rows == 1 && logits.cols == p.chunk().tokens(), "loss: {} x {} logits, not one a token",
            logits.rows, logits.cols);
  }

  void forward(const Context& c) override {
    const Matrix sums = c.value(sums_);
    assert(std::ssize(c.work.labels) == sums.cols);
    c.work.loss = 0;
    c.work.answers.resize(c.work.labels.size());
    for (Index s = 0; s < sums.cols; ++s) {
      const float* logits = c.value(logits_).data + s * length_;
      const auto [maximum, sum] =
          kernels::cross_entropy().over_columns(logits, c.value(exponentials_).data + s * length_, length_);
      const auto sequence = static_cast<std::size_t>(s);
      const std::int32_t label = c.work.labels[sequence];
      assert(0 <= label && label < length_);
      const Index answer = std::find(logits, logits + length_, maximum) - logits;
      sums(0, s) = static_cast<float>(sum);
      c.work.answers[sequence] = static_cast<std::int32_t>(answer % length_);  // N where a logit is NaN
      c.work.loss += std::log(sum) + maximum - logits[label];
    }
  }
  void backward(const Context& c) override {
    const bool add = c.arena.adds(logits_);
    for (Index s = 0; s < sums_.cols; ++s) {
      const float* e = c.value(exponentials_).data + s * length_;
      float* gradient = c.grad(logits_).data + s * length_;
      const float scale = c.work.answer_weight / c.value(sums_)(0, s);
      for (Index t = 0; t < length_; ++t) gradient[t] = (add ? gradient[t] : 0.F) + scale * e[t];
      gradient[c.work.labels[static_cast<std::size_t>(s)]] -= c.work.answer_weight;
    }
  }
  LayerKind kind() const override { return LayerKind::loss; }

 private:
  Index length_;
  Input logits_;
  Kept exponentials_, sums_;
};

/// -log softmax(logits of an answer)[label], softmax over its classes, which are neighbours.
///
/// logits: (answers classes, columns), labels: (columns, answers), in [0, classes); columns are sequences or
/// tokens.
class ClassCrossEntropy final : public Layer {
 public:
  ClassCrossEntropy(Planner& p, const Slot& logits, Index answers)
      : logits_(p.use(logits)),
        answers_(answers),
        classes_(logits.rows / answers),
        statistics_(p.kept("loss.statistics", 4 * answers, p.axis(logits))) {
    require(classes_ * answers == logits.rows, "loss: {} logits for {} answers", logits.rows, answers);
  }

  void forward(const Context& c) override {
    assert(std::ssize(c.work.labels) == answers_ * logits_.cols);
    c.work.loss = 0;
    c.work.answers.resize(c.work.labels.size());
    for (Index a = 0; a < answers_; ++a) {
      const Matrix logits = of_answer(c.value(logits_), a), statistics = rows(c.value(statistics_), 4 * a, 4);
      kernels::cross_entropy().over_rows(logits, statistics);
      for (Index t = 0; t < logits.cols; ++t) {
        const std::int32_t label = c.work.labels[place(t, a)];
        assert(0 <= label && label < classes_);
        const float maximum = statistics(0, t), sum = statistics(1, t);
        c.work.answers[place(t, a)] = static_cast<std::int32_t>(statistics(2, t));
        c.work.loss += std::log(double{sum}) + maximum - logits(label, t);
        statistics(3, t) = 1 / sum;  // padding keeps its zero, and so gets no gradient
      }
    }
  }
  void backward(const Context& c) override {
    for (Index a = 0; a < answers_; ++a) {
      const Matrix gradient = of_answer(c.grad(logits_), a);
      kernels::cross_entropy().over_rows_backward(of_answer(c.value(logits_), a),
                                                  rows(c.value(statistics_), 4 * a, 4), gradient,
                                                  c.work.answer_weight, c.arena.adds(logits_));
      for (Index t = 0; t < gradient.cols; ++t)
        gradient(c.work.labels[place(t, a)], t) -= c.work.answer_weight;
    }
  }
  LayerKind kind() const override { return LayerKind::loss; }

 private:
  Matrix of_answer(const Matrix& m, Index a) const { return rows(m, a * classes_, classes_); }
  std::size_t place(Index column, Index a) const { return static_cast<std::size_t>(column * answers_ + a); }

  Input logits_;
  Index answers_, classes_;
  Kept statistics_;
};

}  // namespace headlab
