#pragma once
#include <string_view>

#include "core/config/config.hpp"
#include "core/layers/layers.hpp"

namespace headlab {

/// How tokens see each other: one row of the table, one file each.
struct Aggregation {
  std::string_view help, source;
  bool pools;  ///< no queries, keys, values, and no mixing after it
  /// Adds the layers from the embeddings x (d, tokens) to the concatenated heads' output or the pooled vector
  /// (d, tokens); parameters are named `layer`.query.weight and so on (MODELS: `layer.0`).
  Slot (*add)(Planner&, Layers&, const std::string& layer, const Slot& x, const Config&);
  bool scales_itself;  ///< its output needs no norm before GELU (non's 1/sqrt(N))
};

const Aggregation& aggregation(Architecture architecture);

}  // namespace headlab
