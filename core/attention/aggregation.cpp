#include "core/attention/aggregation.hpp"

#include <functional>

#include "core/attention/shared_heads.hpp"

namespace headlab {

Slot Aggregation::add(Planner& p, Layers& layers, const std::string& layer, const Slot& x,
                      const Config& config) const {
  if (pools) return aggregate(p, layers, layer, x, config);
  Config seen = config;
  seen.model = as_attended(config.model);
  return aggregate(p, layers, layer, add_query_key_value(p, layers, layer, x, config.model), seen);
}

const Aggregation& aggregation(Architecture architecture) {
  using namespace aggregations;
  static const std::reference_wrapper<const Aggregation> table[]{HEADLAB_ARCHITECTURES};
  return table[static_cast<std::size_t>(architecture)];
}

}  // namespace headlab
