#include "core/bench/bare_products.hpp"

namespace headlab {

BareProducts::BareProducts(Plan& plan) : plan_(&plan) {
  for (const auto& layer : plan.layers().all())
    if (auto* linear = dynamic_cast<Linear*>(layer.get())) linears_.push_back(linear);
}

void BareProducts::run() const {
  const Context context = plan_->context();
  for (Linear* linear : linears_) linear->multiply(context);
  for (Linear* linear : linears_ | std::views::reverse) linear->multiply_backward(context);
}

double BareProducts::operations() const {
  double sum = 0;
  for (const Linear* linear : linears_) sum += 3 * linear->operations();
  return sum;
}

}  // namespace headlab
