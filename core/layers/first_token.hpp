#pragma once
#include "core/layers/layer.hpp"

namespace headlab {

/// Token 0 of each sequence. x: (features, tokens), y: (features, sequences).
class FirstToken final : public Layer {
 public:
  FirstToken(Planner& p, const std::string& name, const Slot& x)
      : length_(p.chunk().length), x_(p.use(x)), y_(p.slot(name + ".y", x.rows, Axis::sequences)) {
    require(x.cols == p.chunk().tokens(), "{}: {} columns are not {} tokens", name, x.cols,
            p.chunk().tokens());
  }
  const Slot& y() const { return y_; }

  void forward(const Context& c) override {
    const Matrix x = c.value(x_), y = c.value(y_);
    for (Index f = 0; f < y.rows; ++f)
      for (Index s = 0; s < y.cols; ++s) y(f, s) = x(f, s * length_);
  }
  void backward(const Context& c) override {
    const Matrix dx = c.grad(x_), dy = c.grad(y_);
    for (Index f = 0; f < dy.rows; ++f) {
      if (!c.arena.adds(x_)) std::fill_n(dx.row(f), dx.cols, 0.F);
      for (Index s = 0; s < dy.cols; ++s) dx(f, s * length_) += dy(f, s);
    }
  }
  LayerKind kind() const override { return LayerKind::loss; }

 private:
  Index length_;
  Input x_;
  Slot y_;
};

}  // namespace headlab
