#pragma once
#include <cassert>

#include "core/layers/layer.hpp"

namespace headlab {

/// y(:, t) = embedding.key(token t / V, :) + embedding.value(token t mod V, :), tokens from the context's
/// work.
///
/// y: (dim, tokens), embedding.key: (vocabulary / V, dim), embedding.value: (V, dim).
class PairEmbedding final : public Layer {
 public:
  PairEmbedding(Planner& p, std::int64_t vocabulary, Index values, Index dim)
      : key_(p.parameter("embedding.key", vocabulary / values, dim)),
        value_(p.parameter("embedding.value", values, dim)),
        y_(p.slot("embedding.y", dim)) {}
  const Slot& y() const { return y_; }

  bool token_wise() const override { return true; }
  void forward(const Context& c) override {
    const Matrix y = c.value(y_);
    each_token(c, c.value(key_), c.value(value_), [&](Index t, const float* key, const float* value) {
      for (Index f = 0; f < y.rows; ++f) y(f, t) = key[f] + value[f];
    });
  }
  void backward(const Context& c) override {
    const Matrix dy = c.grad(y_);
    each_token(c, c.grad(key_), c.grad(value_), [&](Index t, float* key, float* value) {
      for (Index f = 0; f < dy.rows; ++f) key[f] += dy(f, t), value[f] += dy(f, t);
    });
  }
  LayerKind kind() const override { return LayerKind::embedding; }

 private:
  void each_token(const Context& c, const Matrix& keys, const Matrix& values, const auto& step) const {
    const Index first = c.first(), count = c.value(y_).cols;
    assert(std::ssize(c.work.tokens) == y_.cols);
    for (Index t = 0; t < count; ++t) {
      const Index token = c.work.tokens[static_cast<std::size_t>(first + t)];
      step(t, keys.row(token / value_.rows), values.row(token % value_.rows));
    }
  }

  Parameter key_, value_;
  Slot y_;
};

}  // namespace headlab
