#pragma once
#include <memory>
#include <ranges>
#include <vector>

#include "core/layers/layer.hpp"

namespace headlab {

/// A model: its layers in the order of forward.
class Layers {
 public:
  template <class L, class... Args>
  const L& add(Args&&... args) {
    auto layer = std::make_unique<L>(std::forward<Args>(args)...);
    const L& made = *layer;
    layers_.push_back(std::move(layer));
    return made;
  }
  void forward(const Context& c) const {
    for (const auto& layer : layers_) layer->forward(c);
  }
  void backward(const Context& c) const {
    for (const auto& layer : layers_ | std::views::reverse) layer->backward(c);
  }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace headlab
