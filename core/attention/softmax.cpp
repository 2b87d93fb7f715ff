#include "core/attention/attention.hpp"
#include "core/attention/blocked_softmax.hpp"
#include "core/kernels/attention.hpp"

namespace headlab::aggregations {
namespace {

/// a_ij = exp(l_ij) / sum_k exp(l_ik), l = q . k / sqrt(D_k / M).    arXiv:1706.03762
class Softmax final : public Attention {
  using Attention::Attention;

  void normalise(const Context& /*c*/, Index /*head*/, const Matrix& z) override {
    kernels::attention().softmax(z);
  }
  void normalise_backward(const Context& /*c*/, Index /*head*/, const Matrix& z, const Matrix& da) override {
    kernels::attention().softmax_backward(z, da);
  }
};

Slot softmax(Planner& p, Layers& layers, const std::string& layer, const Slot& qkv, const Config& config) {
  const std::string name = layer + ".attention";
  if (config.model.dropout == 0)
    return add_blocked_softmax(p, layers, name, qkv, config.model, score_scale(config.model));
  return layers.add<Softmax>(p, name, qkv, config.model, score_scale(config.model), Shifts::vanish).y();
}

}  // namespace

const Aggregation bert{.help = "softmax over the keys, norms after residual sums",
                       .source = "arXiv:1810.04805",
                       .pools = false,
                       .aggregate = softmax,
                       .scales_itself = false};
const Aggregation mte{.help = "softmax over the keys, norms before residual sums",
                      .source = "arXiv:2005.09561",
                      .pools = false,
                      .aggregate = softmax,
                      .scales_itself = false};

}  // namespace headlab::aggregations
