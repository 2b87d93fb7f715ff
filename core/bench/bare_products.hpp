#pragma once
#include "core/layers/linear.hpp"
#include "core/model/plan.hpp"

namespace headlab {

/// The products of weights of a chunk, y, dW and dx of every linear layer, in the order and on the memory of
/// a step, with nothing between them: no biases, norms or attention.
class BareProducts {
 public:
  /// The plan must outlive them and have run forwards and backwards.
  explicit BareProducts(Plan& plan);

  /// Numbers are those that the chunk left; gradients are added to or overwritten as in a step.
  void run() const;
  double operations() const;  ///< floating-point operations of run(), a multiply-add counting as two

 private:
  Plan* plan_;
};

}  // namespace headlab
