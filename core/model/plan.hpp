#pragma once
#include <functional>

#include "core/layers/layers.hpp"

namespace headlab {

struct Ends {
  std::vector<Slot> inputs;
  Slot output;
};
using Build = std::function<Ends(Planner&, Layers&)>;

/// A model made ready for chunks of one size. Plans of several sizes run over one set of parameters, which
/// must outlive them.
class Plan {
 public:
  Plan(Parameters& parameters, Chunk chunk, const Build& build)
      : Plan(parameters, planner(parameters, chunk, build), build) {}

  const Ends& ends() const { return ends_; }
  Context context() { return {parameters_, arena_, work}; }
  void forward() { seconds ? layers_.forward(context(), *seconds) : layers_.forward(context()); }
  void backward() { seconds ? layers_.backward(context(), *seconds) : layers_.backward(context()); }
  const Layers& layers() const { return layers_; }

  Work work;
  LayerSeconds* seconds = nullptr;  ///< where there is one, layers are timed

 private:
  static Planner planner(Parameters& parameters, Chunk chunk, const Build& build) {
    Planner first(parameters, chunk);
    if (chunk.is_one_tile()) return first;
    Layers layers;
    build(first, layers);
    return {parameters, chunk, first.runs()};
  }
  Plan(Parameters& parameters, Planner planner, const Build& build)
      : parameters_(parameters), ends_(build(planner, layers_)), arena_(planner) {}
  Parameters& parameters_;
  Layers layers_;
  Ends ends_;
  Arena arena_;
};

}  // namespace headlab
