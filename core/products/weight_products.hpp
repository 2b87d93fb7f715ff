#pragma once
#include <vector>

#include "core/dnn/product.hpp"
#include "core/products/multiply.hpp"

namespace headlab {

/// The three products of a layer with weights w: (in, out), x: (in, columns), y: (out, columns), all columns
/// or those of a tile.
///
/// Which of them our kernels make and which oneDNN is a fixed rule from in and out, see products::map and
/// outer.
class WeightProducts {
 public:
  WeightProducts(Planner& p, const std::string& name, const Region& w, const Slot& x, const Slot& y) {
    plan(p, name, w, x, y, p.axis(x) == Axis::tokens ? p.chunk().tile() : x.cols);
    if (p.axis(x) == Axis::tokens && p.chunk().last_tile() != p.chunk().tile())
      plan(p, name, w, x, y, p.chunk().last_tile());
  }

  /// y = w^T x, or y += it.
  void forward(const Context& c, const Matrix& w, const Matrix& x, const Matrix& y, bool add) {
    if (dnn::Product* product = of(to_y_, x)) return product->run(c, w, x, y, add);
    products::map(w, x, y, 1, add);
  }
  /// dw += x dy^T.
  void to_weight(const Context& c, const Matrix& x, const Matrix& dy, const Matrix& dw) {
    if (dnn::Product* product = of(to_weight_, x)) return product->run(c, x, dy, dw, true);
    products::outer(x, dy, dw, 1, true);
  }
  /// dx = w dy, or dx += it.
  void to_x(const Context& c, const Matrix& w, const Matrix& dy, const Matrix& dx, bool add) {
    if (dnn::Product* product = of(to_x_, dx)) return product->run(c, w, dy, dx, add);
    products::map(dnn::transposed(w), dy, dx, 1, add);
  }

 private:
  struct OfColumns {
    Index columns;
    dnn::Product product;
  };
  using Sizes = std::vector<OfColumns>;

  void plan(Planner& p, const std::string& name, const Region& w, Slot x, Slot y, Index columns) {
    x.cols = y.cols = x.gradient.cols = y.gradient.cols = columns;
    if (!products::is_map_small(w.rows, w.cols)) {
      to_y_.push_back({columns, {p, name + ".forward", dnn::transposed(w), x, y}});
      to_x_.push_back({columns, {p, name + ".to_x", w, y.gradient, x.gradient}});
    }
    if (!products::is_outer_small(w.rows, w.cols))
      to_weight_.push_back({columns, {p, name + ".to_weight", x, dnn::transposed(y.gradient), w}});
  }
  /// Null where our kernels make it.
  static dnn::Product* of(Sizes& sizes, const Matrix& x) {
    const auto found = std::ranges::find(sizes, x.cols, &OfColumns::columns);
    return found == sizes.end() ? nullptr : &found->product;
  }

  Sizes to_y_, to_weight_, to_x_;
};

}  // namespace headlab
