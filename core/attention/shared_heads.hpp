#pragma once
#include <functional>

#include "core/config/config.hpp"
#include "core/layers/layers.hpp"

namespace headlab {

/// The configuration as layer k sees it: with the queries and keys that a conversion left it.
Config of_layer(Config config, std::int64_t k);

/// The sum of f(model as a layer sees it) over all layers.
double over_layers(const Config& config, const std::function<double(const Config::Model&)>& f);

/// How wide what heads compare is, whoever shares it.
struct QueryKeyWidths {
  double queries, keys;  ///< features a token that a layer computes, a content bias being one of keys a head
  double parameters;     ///< weights, biases, mixing and content bias of a layer
};
QueryKeyWidths query_key_widths(const Config::Model& model);

/// The model as attention sees it behind add_query_key_value(): query_key_dim is M (D~_k + 1) where heads are
/// collaborative, each comparing all shared features and its content bias.
Config::Model as_attended(Config::Model model);

/// Queries, keys and values of the embeddings x (d, tokens), one after another (2 D + d, tokens), D the
/// query_key_dim of as_attended(). Parameters: LAYER.value.weight (d, d), LAYER.value.bias, and
///   concatenated   LAYER.query.weight, LAYER.key.weight (d, D_k), LAYER.query.bias, LAYER.key.bias
///   multi_query    the same, keys of one head, (d, D_k / M), for all heads' queries
///   collaborative  LAYER.query.weight, LAYER.key.weight (d, D~_k), which all heads share, LAYER.mixing (M,
///   D~_k),
///                  LAYER.content_bias (d, M) and no biases: the logits of head h are
///                  sum_r mixing_hr (x_i . w_Q,r) (w_K,r . x_j) + content_bias_h . x_j, times the score's
///                  scale.
/// arXiv:2006.16362 3.3 and 3.2, multi_query: arXiv:1911.02150.
Slot add_query_key_value(Planner& p, Layers& layers, const std::string& layer, const Slot& x,
                         const Config::Model& model);

}  // namespace headlab
