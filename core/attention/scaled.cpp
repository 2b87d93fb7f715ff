#include "core/attention/attention.hpp"

namespace headlab::aggregations {
namespace {

/// a_ij = l_ij / sqrt(N), l = q . k / sqrt(D_k / M).    arXiv:2005.09561
class Scaled final : public Attention {
 public:
  Scaled(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : Attention(p, name, qkv, m, score_scale(m) / std::sqrt(float(p.chunk().length))) {}

 private:
  void normalise(const Context& /*c*/, Index /*head*/, const Matrix& /*z*/) override {}
  void normalise_backward(const Context& /*c*/, Index /*head*/, const Matrix& /*z*/,
                          const Matrix& /*da*/) override {}
};

Slot scaled(Planner& p, Layers& layers, const std::string& layer, const Slot& qkv, const Config& config) {
  return layers.add<Scaled>(p, layer + ".attention", qkv, config.model).y();
}

}  // namespace

const Aggregation non{.help = "logits over the square root of the length",
                      .source = "arXiv:2005.09561",
                      .pools = false,
                      .aggregate = scaled,
                      .scales_itself = true};

}  // namespace headlab::aggregations
