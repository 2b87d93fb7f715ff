#pragma once
// The layer norms of all architectures, LN_a to LN_d of model.hpp. Every one takes the bias of the
// linear layer before it, if there is one: bias(u) is (1, features).
#include <optional>

#include "core/kernels/norm.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

using OptionalBias = std::optional<Parameter>;

/// What the four below share; formulas in kernels/norm.hpp.
///
/// u, x, y: (features, tokens), normalised over the features; epsilon is inside the root.
/// NAME.gain, NAME.bias: (1, features).
class NormLayer : public Layer {
 public:
  const Slot& y() const { return y_; }

  bool token_wise() const final { return of_tokens_; }
  void forward(const Context& c) final { kernels::norms().forward[index()](values(c)); }
  void backward(const Context& c) final {
    kernels::norms().backward[index()](values(c), gradients(c), x_ && c.arena.adds(*x_), c.arena.adds(u_));
  }
  LayerKind kind() const final { return LayerKind::norms; }

 protected:
  NormLayer(kernels::NormForm form, Planner& p, const std::string& name, const std::optional<Slot>& x,
            const Slot& u, const OptionalBias& bias, double epsilon)
      : form_(form),
        epsilon_(static_cast<float>(epsilon)),
        x_(x ? std::optional<Input>(p.use(*x)) : std::nullopt),
        u_(p.use(u)),
        before_(bias),
        gain_(p.parameter(name + ".gain", 1, u.rows)),
        bias_(p.parameter(name + ".bias", 1, u.rows)),
        statistics_(p.kept(name + ".statistics", 4, p.axis(u))),
        y_(p.slot(name + ".y", u.rows, p.axis(u))),
        of_tokens_(p.axis(u) == Axis::tokens) {
    require(!bias || bias->cols == u.rows, "{}: {} biases for {} features", name, bias ? bias->cols : 0,
            u.rows);
    require(!x || (x->rows == u.rows && x->cols == u.cols), "{}: cannot add {} x {} to {} x {}", name, u.rows,
            u.cols, x ? x->rows : 0, x ? x->cols : 0);
    if (form == kernels::NormForm::gelu) slope_ = p.kept(name + ".slope", u.rows, p.axis(u));
  }

 private:
  std::size_t index() const { return static_cast<std::size_t>(form_); }
  kernels::Norm values(const Context& c) const {
    return {.x = x_ ? c.value(*x_) : Matrix{},
            .u = c.value(u_),
            .bias = before_ ? c.value(*before_) : Matrix{},
            .gain = c.value(gain_),
            .shift = c.value(bias_),
            .y = c.value(y_),
            .slope = slope_ ? c.value(*slope_) : Matrix{},
            .statistics = c.value(statistics_),
            .epsilon = epsilon_};
  }
  kernels::Norm gradients(const Context& c) const {
    return {.x = x_ ? c.grad(*x_) : Matrix{},
            .u = c.grad(u_),
            .bias = before_ ? c.grad(*before_) : Matrix{},
            .gain = c.grad(gain_),
            .shift = c.grad(bias_),
            .y = c.grad(y_),
            .slope = {},
            .statistics = {},
            .epsilon = epsilon_};
  }
  kernels::NormForm form_;
  float epsilon_;
  std::optional<Input> x_;
  Input u_;
  OptionalBias before_;
  Parameter gain_, bias_;
  std::optional<Kept> slope_;
  Kept statistics_;
  Slot y_;
  bool of_tokens_;
};

/// y = LN(u + bias(u))
class Norm final : public NormLayer {
 public:
  Norm(Planner& p, const std::string& name, const Slot& u, const OptionalBias& bias, double epsilon)
      : NormLayer(kernels::NormForm::plain, p, name, {}, u, bias, epsilon) {}
};

/// y = GELU(LN(u + bias(u)))
class NormGelu final : public NormLayer {
 public:
  NormGelu(Planner& p, const std::string& name, const Slot& u, const OptionalBias& bias, double epsilon)
      : NormLayer(kernels::NormForm::gelu, p, name, {}, u, bias, epsilon) {}
};

/// y = x + LN(u + bias(u)): mte's residual
class NormResidual final : public NormLayer {
 public:
  NormResidual(Planner& p, const std::string& name, const Slot& x, const Slot& u, const OptionalBias& bias,
               double epsilon)
      : NormLayer(kernels::NormForm::residual_after, p, name, x, u, bias, epsilon) {}
};

/// y = LN(x + u + bias(u)): bert's residual
class ResidualNorm final : public NormLayer {
 public:
  ResidualNorm(Planner& p, const std::string& name, const Slot& x, const Slot& u, const OptionalBias& bias,
               double epsilon)
      : NormLayer(kernels::NormForm::residual_before, p, name, x, u, bias, epsilon) {}
};

}  // namespace headlab
