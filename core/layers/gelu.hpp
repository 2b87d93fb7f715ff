#pragma once
#include <optional>

#include "core/kernels/rows.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

/// y = GELU(u + bias), tanh form (arXiv:1606.08415), bias that of the linear layer before, if there is one.
///
/// u, y: (features, tokens), bias: (1, features).
class Gelu final : public Layer {
 public:
  Gelu(Planner& p, const std::string& name, const Slot& u, const std::optional<Parameter>& bias)
      : u_(p.use(u)),
        bias_(bias),
        slope_(p.kept(name + ".slope", u.rows, p.axis(u))),
        y_(p.slot(name + ".y", u.rows, p.axis(u))),
        of_tokens_(p.axis(u) == Axis::tokens) {
    require(!bias || bias->cols == u.rows, "{}: {} biases for {} features", name, bias ? bias->cols : 0,
            u.rows);
  }
  const Slot& y() const { return y_; }

  bool token_wise() const override { return of_tokens_; }
  void forward(const Context& c) override { kernels::rows().gelu(values(c)); }
  void backward(const Context& c) override {
    kernels::rows().gelu_backward(
        values(c), {c.grad(u_), bias_ ? c.grad(*bias_) : Matrix{}, c.grad(y_), Matrix{}}, c.arena.adds(u_));
  }
  LayerKind kind() const override { return LayerKind::norms; }

 private:
  kernels::Gelu values(const Context& c) const {
    return {c.value(u_), bias_ ? c.value(*bias_) : Matrix{}, c.value(y_), c.value(slope_)};
  }
  Input u_;
  std::optional<Parameter> bias_;
  Kept slope_;
  Slot y_;
  bool of_tokens_;
};

}  // namespace headlab
