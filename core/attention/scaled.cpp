#include "core/attention/linear.hpp"

namespace headlab::aggregations {
namespace {

/// a_ij = l_ij / sqrt(N), l = q . k / sqrt(D_k / M).    arXiv:2005.09561
class Scaled final : public Attention {
 public:
  using Attention::Attention;

 private:
  void normalise(const Context& /*c*/, Index /*head*/, const Matrix& /*z*/) override {}
  void normalise_backward(const Context& /*c*/, Index /*head*/, const Matrix& /*z*/,
                          const Matrix& /*da*/) override {}
};

Slot scaled(Planner& p, Layers& layers, const std::string& layer, const Slot& qkv, const Config& config) {
  const std::string name = layer + ".attention";
  const float scale = score_scale(config.model) / std::sqrt(static_cast<float>(p.chunk().length));
  if (is_linear_less(p.chunk().length, config.model))
    return add_linear_scaled(p, layers, name, qkv, config.model, scale);
  return layers.add<Scaled>(p, name, qkv, config.model, scale, Shifts::show).y();
}

}  // namespace

const Aggregation non{
    .help = "logits over the square root of the length",
    .source = "arXiv:2005.09561",
    .pools = false,
    .aggregate = scaled,
    .scales_itself = true,
    .linear_operations = [](double query_key, double value) { return 2 * query_key * value; }};

}  // namespace headlab::aggregations
