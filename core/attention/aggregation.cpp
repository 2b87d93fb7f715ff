#include "core/attention/aggregation.hpp"

#include <functional>

#include "core/layers/linear.hpp"

namespace headlab {
namespace {

/// One weight side by side: one product makes all three.
Slot query_key_value(Planner& p, Layers& layers, const std::string& layer, const Slot& x,
                     const Config::Model& m) {
  const std::vector<Part> parts{
      {layer + ".query", m.query_key_dim}, {layer + ".key", m.query_key_dim}, {layer + ".value", m.dim}};
  return layers.add<Linear>(p, parts, x, Bias::here).y();
}

}  // namespace

Slot Aggregation::add(Planner& p, Layers& layers, const std::string& layer, const Slot& x,
                      const Config& config) const {
  return aggregate(p, layers, layer, pools ? x : query_key_value(p, layers, layer, x, config.model), config);
}

const Aggregation& aggregation(Architecture architecture) {
  using namespace aggregations;
  static const std::reference_wrapper<const Aggregation> table[]{HEADLAB_ARCHITECTURES};
  return table[static_cast<std::size_t>(architecture)];
}

}  // namespace headlab
