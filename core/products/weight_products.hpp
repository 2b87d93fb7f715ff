#pragma once
#include <optional>

#include "core/dnn/product.hpp"
#include "core/products/multiply.hpp"

namespace headlab {

/// The three products of a layer with weights w: (in, out), x: (in, columns), y: (out, columns).
///
/// Which of them our kernels make and which oneDNN is a fixed rule from in and out, see products::map and
/// outer.
class WeightProducts {
 public:
  WeightProducts(Planner& p, const std::string& name, const Region& w, const Region& x, const Region& y) {
    if (!products::is_map_small(w.rows, w.cols)) {
      to_y_.emplace(p, name + ".forward", dnn::transposed(w), x, y);
      to_x_.emplace(p, name + ".to_x", w, y, x);
    }
    if (!products::is_outer_small(w.rows, w.cols))
      to_weight_.emplace(p, name + ".to_weight", x, dnn::transposed(y), w);
  }

  /// y = w^T x, or y += it.
  void forward(const Context& c, const Matrix& w, const Matrix& x, const Matrix& y, bool add) {
    if (to_y_) return to_y_->run(c, w, x, y, add);
    products::map(w, x, y, 1, add);
  }
  /// dw += x dy^T.
  void to_weight(const Context& c, const Matrix& x, const Matrix& dy, const Matrix& dw) {
    if (to_weight_) return to_weight_->run(c, x, dy, dw, true);
    products::outer(x, dy, dw, 1, true);
  }
  /// dx = w dy, or dx += it.
  void to_x(const Context& c, const Matrix& w, const Matrix& dy, const Matrix& dx, bool add) {
    if (to_x_) return to_x_->run(c, w, dy, dx, add);
    products::map(dnn::transposed(w), dy, dx, 1, add);
  }

 private:
  std::optional<dnn::Product> to_y_, to_weight_, to_x_;
};

}  // namespace headlab
