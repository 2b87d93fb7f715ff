#pragma once
#include <cassert>
#include <optional>

#include "core/kernels/rows.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

/// y(:, t) = embedding.token(token t, :) + embedding.position(t mod N, :), tokens from the context's work.
///
/// y: (dim, tokens), embedding.token: (vocabulary, dim), embedding.position: (positions, dim), of which a
/// length N uses the first N rows; none if positions = 0.
class Embedding final : public Layer {
 public:
  Embedding(Planner& p, std::int64_t vocabulary, Index dim, Index positions)
      : length_(p.chunk().length),
        token_(p.parameter("embedding.token", vocabulary, dim)),
        y_(p.slot("embedding.y", dim)) {
    require(positions == 0 || length_ <= positions, "embedding: {} positions for sequences of {} tokens",
            positions, length_);
    if (positions > 0) position_ = p.parameter("embedding.position", positions, dim);
  }
  const Slot& y() const { return y_; }

  bool token_wise() const override { return true; }
  void forward(const Context& c) override {
    assert(std::ssize(c.work.tokens) == y_.cols);
    assert(std::ranges::all_of(c.work.tokens, [&](auto token) { return 0 <= token && token < token_.rows; }));
    kernels::rows().embedding({c.work.tokens.data(), length_, c.first(), c.value(token_),
                               position_ ? c.value(*position_) : Matrix{}, c.value(y_)});
  }
  void backward(const Context& c) override {
    kernels::rows().embedding_backward({c.work.tokens.data(), length_, c.first(), c.grad(token_),
                                        position_ ? c.grad(*position_) : Matrix{}, c.grad(y_)});
  }
  LayerKind kind() const override { return LayerKind::embedding; }

 private:
  Index length_;
  Parameter token_;
  std::optional<Parameter> position_;
  Slot y_;
};

}  // namespace headlab
