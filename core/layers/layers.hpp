#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <ranges>
#include <vector>

#include "core/base/stopwatch.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

/// What layers took, by kind().
struct LayerSeconds {
  std::array<double, layer_kinds> forward{}, backward{};
};

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
    each_forward(c, [](Layer& layer, const Context& part) { layer.forward(part); });
  }
  void backward(const Context& c) const {
    each_backward(c, [](Layer& layer, const Context& part) { layer.backward(part); });
  }
  /// The same, timed layer by layer: added to `seconds`.
  void forward(const Context& c, LayerSeconds& seconds) const {
    each_forward(c, [&](Layer& layer, const Context& part) {
      const Stopwatch watch(seconds.forward[index(layer)]);
      layer.forward(part);
    });
  }
  void backward(const Context& c, LayerSeconds& seconds) const {
    each_backward(c, [&](Layer& layer, const Context& part) {
      const Stopwatch watch(seconds.backward[index(layer)]);
      layer.backward(part);
    });
  }

  /// Calls step(layer, part) as often and in the order as forward or backward would run layers, each on a
  /// part, which is a tile or the whole chunk.
  void each_forward(const Context& c, const auto& step) const {
    run(c, layers_, [](const Context&) {}, step);
  }
  void each_backward(const Context& c, const auto& step) const {
    run(
        c, layers_ | std::views::reverse,
        [](const Context& tile) {
          if (tile.tile) tile.arena.clear_padding(*tile.tile);
        },
        step);
  }
  const std::vector<std::unique_ptr<Layer>>& all() const { return layers_; }

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
  static std::size_t index(const Layer& layer) { return static_cast<std::size_t>(layer.kind()); }

  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace headlab
