#include "core/bench/bare_products.hpp"

namespace headlab {

namespace {

/// Calls f(linear) if the layer is one.
void if_linear(Layer& layer, const auto& f) {
  if (auto* linear = dynamic_cast<Linear*>(&layer)) f(*linear);
}

}  // namespace

BareProducts::BareProducts(Plan& plan) : plan_(&plan) {}

void BareProducts::run() const {
  const Context context = plan_->context();
  plan_->layers().each_forward(context, [](Layer& layer, const Context& part) {
    if_linear(layer, [&](Linear& linear) { linear.multiply(part); });
  });
  plan_->layers().each_backward(context, [](Layer& layer, const Context& part) {
    if_linear(layer, [&](Linear& linear) { linear.multiply_backward(part); });
  });
}

double BareProducts::operations() const {
  double sum = 0;
  for (const auto& layer : plan_->layers().all())
    if_linear(*layer, [&](const Linear& linear) { sum += 3 * linear.operations(); });
  return sum;
}

}  // namespace headlab
