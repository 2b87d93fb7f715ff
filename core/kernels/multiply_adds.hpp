#pragma once
#include "core/memory/matrix.hpp"

namespace headlab::kernels {

/// What no program exceeds: fused multiply-adds in registers, as many independent chains of them as fill the
/// pipelines.
struct MultiplyAdds {
  double operations;  ///< of all chains and lanes, a multiply-add counting as two
  /// Makes `times` multiply-adds in each chain; gives the sum of all, so that none is left out.
  float (*run)(Index times);
};
namespace v3 {
extern const MultiplyAdds multiply_adds;
}
namespace v4 {
extern const MultiplyAdds multiply_adds;
}
const MultiplyAdds& multiply_adds();  ///< that of instruction_set()

}  // namespace headlab::kernels
