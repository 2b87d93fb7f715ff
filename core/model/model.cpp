#include "core/model/model.hpp"

#include "core/attention/aggregation.hpp"
#include "core/attention/shared_heads.hpp"
#include "core/config/key.hpp"
#include "core/layers/cross_entropy.hpp"
#include "core/layers/dropout.hpp"
#include "core/layers/embedding.hpp"
#include "core/layers/first_token.hpp"
#include "core/layers/gelu.hpp"
#include "core/layers/linear.hpp"
#include "core/layers/norm.hpp"
#include "core/layers/pair_embedding.hpp"

namespace headlab {
namespace {

struct LayerBuilder {
  Planner& planner;
  Layers& layers;
  Config whole;  ///< as the layer sees it
  std::string name;
  const Config::Model& config = whole.model;

  bool mte() const { return config.norm_placement == NormPlacement::mte; }

  /// x + D(LN(u + bias)), or LN(x + D(u + bias)), D dropout.
  Slot joined(const std::string& module, const Slot& x, const Slot& u, const OptionalBias& bias,
              Drops drops = Drops::each) {
    const std::string norm = name + "." + module + "_norm", own = name + "." + module + "_dropout";
    const double epsilon = config.norm_epsilon, rate = config.dropout;
    if (rate == 0 && mte()) return layers.add<NormResidual>(planner, norm, x, u, bias, epsilon).y();
    if (rate == 0) return layers.add<ResidualNorm>(planner, norm, x, u, bias, epsilon).y();
    if (mte()) {
      const Slot normed = layers.add<Norm>(planner, norm, u, bias, epsilon).y();
      return layers.add<Dropout>(planner, own, x, normed, OptionalBias(), rate, drops).y();
    }
    const Slot dropped = layers.add<Dropout>(planner, own, std::optional<Slot>(), u, bias, rate, drops).y();
    return layers.add<ResidualNorm>(planner, norm, x, dropped, OptionalBias(), epsilon).y();
  }
  /// LN and GELU, either or none, of x + bias.
  Slot activated(const std::string& norm, const Slot& x, const OptionalBias& bias, bool norms, bool gelu) {
    const std::string own = name + "." + norm;
    if (norms && gelu) return layers.add<NormGelu>(planner, own, x, bias, config.norm_epsilon).y();
    if (norms) return layers.add<Norm>(planner, own, x, bias, config.norm_epsilon).y();
    return gelu ? layers.add<Gelu>(planner, own, x, bias).y() : x;
  }
  Slot see_each_other(const Slot& x) {
    const Aggregation& how = aggregation(config.architecture);
    const Slot seen = how.add(planner, layers, name, x, whole);
    if (how.pools) return joined("mix", x, seen, {}, Drops::shared);
    const Slot h = activated("attention_norm", seen, {}, mte() && !how.scales_itself, config.attention_gelu);
    const auto& mix = layers.add<Linear>(planner, name + ".mix", h, config.dim);
    return joined("mix", x, mix.y(), mix.bias());
  }
  Slot feed_forward(const Slot& e) {
    const auto& hidden = layers.add<Linear>(planner, name + ".hidden", e, config.feed_forward);
    const Slot active = activated("hidden_norm", hidden.y(), hidden.bias(), mte(), true);
    const auto& output = layers.add<Linear>(planner, name + ".output", active, config.dim);
    return joined("output", e, output.y(), output.bias());
  }
};

Slot embedded(Planner& planner, Layers& layers, const Config& config, const Form& form) {
  const Index positions = form.positions ? config.task.length : 0, dim = config.model.dim;
  Slot x = form.values > 0 ? layers.add<PairEmbedding>(planner, form.vocabulary, form.values, dim).y()
                           : layers.add<Embedding>(planner, form.vocabulary, dim, positions).y();
  if (config.model.dropout == 0) return x;
  return layers
      .add<Dropout>(planner, "embedding.dropout", std::optional<Slot>(), x, OptionalBias(),
                    config.model.dropout)
      .y();
}

/// Adds the readout and the loss; gives the logits.
Slot read_out(Planner& planner, Layers& layers, const Slot& x, const Form& form) {
  const Slot from = form.answer == Answer::first_token ? layers.add<FirstToken>(planner, "first", x).y() : x;
  const Index used =
      form.of_positions && form.answer != Answer::across_tokens ? planner.chunk().length : form.outputs();
  const Slot logits = layers.add<Linear>(planner, "readout", from, form.outputs(), used, Bias::here).y();
  if (form.answer == Answer::across_tokens)
    layers.add<TokenCrossEntropy>(planner, logits);
  else
    layers.add<ClassCrossEntropy>(planner, logits, form.answers);
  return logits;
}

}  // namespace

Build model(const Config& config, const Form& form) {
  return [config, form](Planner& planner, Layers& layers) -> Ends {
    Slot x = embedded(planner, layers, config, form);
    std::vector<Slot> seen;
    for (Index k = 0; k < config.model.layers; ++k) {
      seen.push_back(x);
      LayerBuilder block{planner, layers, of_layer(config, k), fmt::format("layer.{}", k)};
      x = block.feed_forward(block.see_each_other(x));
    }
    return {std::move(seen), read_out(planner, layers, x, form)};
  };
}

}  // namespace headlab
