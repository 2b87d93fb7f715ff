#pragma once
#include <string_view>

#include "core/config/config.hpp"
#include "core/layers/layers.hpp"

namespace headlab {

/// How tokens see each other: one row of the table, one file each.
struct Aggregation {
  std::string_view help, source;
  bool pools;  ///< no queries, keys, values, and no mixing after it
  /// Adds the layers to the concatenated heads' output or the pooled vector (d, tokens) from the features of
  /// queries, keys and values, one after another (2 D_k + d, tokens), or, where it pools, the embeddings.
  Slot (*aggregate)(Planner&, Layers&, const std::string& layer, const Slot& input, const Config&);
  bool scales_itself;  ///< its output needs no norm before GELU (non's 1/sqrt(N))
  /// Multiply-adds of its linear form for a token and head, from the features of a query and of a value; null
  /// if it has no linear form.
  double (*linear_operations)(double query_key, double value) = nullptr;

  /// The same from the embeddings x (d, tokens), see add_query_key_value(); `layer` is layer.0, layer.1 ...
  Slot add(Planner& p, Layers& layers, const std::string& layer, const Slot& x, const Config& config) const;
};

namespace aggregations {
extern const Aggregation HEADLAB_ARCHITECTURES;
}
const Aggregation& aggregation(Architecture architecture);

}  // namespace headlab
