#include "core/analytic/single_head.hpp"

#include "core/model/initialise.hpp"

namespace headlab {
namespace {

Config one_head(Architecture architecture, Index query_key_dim, Index dim) {
  Config config;
  config.model.architecture = architecture;
  config.model.heads = 1;
  config.model.query_key_dim = query_key_dim;
  config.model.dim = dim;
  config.model.attention_epsilon = 1e-3;
  return config;
}

Build alone(const Config& config) {
  return [config](Planner& planner, Layers& layers) -> Ends {
    const Aggregation& a = aggregation(config.model.architecture);
    const Index features = config.model.dim + (a.pools ? 0 : 2 * config.model.query_key_dim);
    const Slot inputs = planner.slot("inputs", features);
    return {{inputs}, a.aggregate(planner, layers, "layer.0", inputs, config)};
  };
}

}  // namespace

SingleHead::SingleHead(Architecture architecture, Chunk chunk, Index query_key_dim, Index dim)
    : pools_(aggregation(architecture).pools),
      query_key_dim_(query_key_dim),
      dim_(dim),
      plan_(parameters_, chunk, alone(one_head(architecture, query_key_dim, dim))) {
  initialise(parameters_, one_head(architecture, query_key_dim, dim));
}

Matrix SingleHead::forward() {
  plan_.forward();
  return plan_.context().value(plan_.ends().output);
}

}  // namespace headlab
