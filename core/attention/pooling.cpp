#include "core/attention/aggregation.hpp"
#include "core/kernels/attention.hpp"

namespace headlab::aggregations {
namespace {

/// y_t = sum_s x_s or, feature by feature, max_s x_s over the tokens s of t's sequence; the gradient of a
/// maximum goes to the first token that has it. x, y: (d, tokens).    arXiv:2005.09561
class Pooling : public Layer {
 public:
  Pooling(Planner& p, const std::string& name, const Slot& x)
      : x_(p.use(x)), y_(p.slot(name + ".y", x.rows)), length_(p.chunk().length) {}
  const Slot& y() const { return y_; }
  LayerKind kind() const final { return LayerKind::pooling; }

 protected:
  Input x_;
  Slot y_;
  Index length_;
};

class Sum final : public Pooling {
  using Pooling::Pooling;
  void forward(const Context& c) override {
    kernels::pooling().sum(c.value(x_), c.value(y_), length_, 1, false);
  }
  void backward(const Context& c) override {
    kernels::pooling().sum(c.grad(y_), c.grad(x_), length_, 1, c.arena.adds(x_));
  }
};

class Max final : public Pooling {
  using Pooling::Pooling;
  void forward(const Context& c) override { kernels::pooling().max(c.value(x_), c.value(y_), length_); }
  void backward(const Context& c) override {
    kernels::pooling().max_backward(c.value(x_), c.grad(y_), c.grad(x_), length_, c.arena.adds(x_));
  }
};

template <class Kind>
Slot pooled(Planner& p, Layers& layers, const std::string& layer, const Slot& x, const Config& /*config*/) {
  return layers.add<Kind>(p, layer + ".pooling", x).y();
}

}  // namespace

const Aggregation sum{.help = "the sum of a sequence's embeddings",
                      .source = "arXiv:2005.09561",
                      .pools = true,
                      .aggregate = pooled<Sum>,
                      .scales_itself = false};
const Aggregation max{.help = "the largest value of each feature over a sequence's embeddings",
                      .source = "arXiv:2005.09561",
                      .pools = true,
                      .aggregate = pooled<Max>,
                      .scales_itself = false};

}  // namespace headlab::aggregations
