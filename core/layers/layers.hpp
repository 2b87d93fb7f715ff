#pragma once
#include <algorithm>
#include <memory>
#include <ranges>
#include <vector>

#include "core/layers/layer.hpp"

namespace headlab {

/// A model: its layers in the order of forward.
class Layers {
 public:
  template <class L, class... Args>
  const L& add(Planner& p, Args&&... args) {
    p.begin_layer();
    auto layer = std::make_unique<L>(p, std::forward<Args>(args)...);
    const L& made = *layer;
    p.end_layer(made.token_wise());
    layers_.push_back(std::move(layer));
    return made;
  }
  void forward(const Context& c) const {
    run(c, layers_, [](const Context&) {}, [](Layer& layer, const Context& part) { layer.forward(part); });
  }
  void backward(const Context& c) const {
    run(
        c, layers_ | std::views::reverse,
        [](const Context& tile) {
          if (tile.tile) tile.arena.clear_padding(*tile.tile);
        },
        [](Layer& layer, const Context& part) { layer.backward(part); });
  }

 private:
  /// Neighbours that work token by token go through one tile after another, so that it stays in the cache.
  static void run(const Context& c, const auto& layers, const auto& before_tile, const auto& step) {
    for (auto first = layers.begin(); first != layers.end(); ++first) {
      const auto mixing =
          std::find_if(first, layers.end(), [](const auto& layer) { return !layer->token_wise(); });
      each_tile(c, [&](const Context& tile) {
        before_tile(tile);
        std::for_each(first, mixing, [&](const auto& layer) { step(*layer, tile); });
      });
      if (mixing == layers.end()) return;
      step(**mixing, c);
      first = mixing;
    }
  }
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace headlab
