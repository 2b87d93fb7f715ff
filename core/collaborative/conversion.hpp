#pragma once
#include <functional>

#include "core/collaborative/decomposition.hpp"
#include "core/config/config.hpp"

namespace headlab::collaborative {

/// What scores are multiplied by before they are normalised.
struct ScoreScale {
  double before = 1;  ///< in heads as they are, 1/sqrt(D_k / H)
  double after = 1;   ///< in collaborative ones, 1/sqrt(d / H)
  double ratio() const { return before / after; }
};
/// By layer; 1 and 1 for nap, which has none.
std::vector<ScoreScale> score_scales(const Config& config);

struct Conversion {
  Settings settings;                         ///< of every layer, but for its name and metric
  std::vector<std::size_t> layers;           ///< without repetition
  std::vector<ScoreScale> scales;            ///< by layer
  std::size_t threads = 1;                   ///< each layer is one thread's
  std::vector<Array<double>> seen{};         ///< inputs by layer, (n, d), for score_difference; none: NaN
  std::vector<Array<double>> whitened_by{};  ///< inputs whose second moments are the metric
  /// Called when a layer is ready, by one thread at a time; with how many are.
  std::function<void(std::size_t)> ready = [](std::size_t) {};
};

struct LayerReport {
  std::size_t layer{}, features{}, dim{};               ///< D_k or, where heads shared before, their R; R
  std::size_t parameters_before{}, parameters_after{};  ///< of queries and keys
  Decomposition decomposition;                          ///< without factors
  double score_difference{};  ///< the largest, of scores as they go into the softmax
};

struct Converted {
  Tensors parameters;
  std::vector<LayerReport> reports;  ///< in the order of `layers`
};

/// A model's parameters with these layers' queries and keys shared: query.weight and key.weight (d, R),
/// mixing (H, R), content_bias (d, H) with column i W_K^(i) b_Q^(i), from the weights as they were, in place
/// of weights and biases of queries and keys. Whatever R, the scale of scores stays: where collaborative
/// layers have another one, mixing and content_bias hold the ratio. Of layers that share already the content
/// bias stays, and from their own R on all. ConfigError for layers that are not there, and for shapes that do
/// not fit.
Converted converted(const Tensors& parameters, std::size_t heads, const Conversion& conversion);

/// The heads of T^: W_Q^(i) = query diag(mixing_i), W_K^(i) = key.
HeadWeights heads_of(const Factors& factors);

/// Queries and keys of a layer of a model; where heads share, those of heads_of().
HeadWeights head_weights(const Tensors& parameters, std::size_t layer, std::size_t heads);

}  // namespace headlab::collaborative
