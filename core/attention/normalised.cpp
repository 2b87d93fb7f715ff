#include "core/attention/linear.hpp"
#include "core/kernels/attention.hpp"

namespace headlab::aggregations {
namespace {

/// a_ij = g (l_ij - mean_j l) / (std_j l + epsilon) + b, l = q . k: not scaled, epsilon outside the root, the
/// deviation the population's; no gradient goes through a deviation of zero.    arXiv:2005.09561 and its code
///
/// NAME.gain g, NAME.bias b: (1, heads).
class Normalised final : public Attention {
 public:
  Normalised(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : Attention(p, name, qkv, m, 1, Shifts::vanish),
        epsilon_(float(m.attention_epsilon)),
        gain_(p.parameter(name + ".gain", 1, m.heads)),
        bias_(p.parameter(name + ".bias", 1, m.heads)),
        statistics_(p.kept(name + ".statistics", 2 * m.heads)) {}

 private:
  void normalise(const Context& c, Index head, const Matrix& z) override {
    kernels::attention().standardise({z, statistics(c, head)}, epsilon_);
  }
  void normalise_backward(const Context& c, Index head, const Matrix& z, const Matrix& da) override {
    kernels::attention().standardise_backward({z, statistics(c, head)}, da, affine(c, head).gain,
                                              c.grad(gain_)(0, head), c.grad(bias_)(0, head));
  }
  Affine affine(const Context& c, Index head) const override {
    return {c.value(gain_)(0, head), c.value(bias_)(0, head)};
  }
  Matrix statistics(const Context& c, Index head) const { return rows(c.value(statistics_), 2 * head, 2); }

  float epsilon_;
  Parameter gain_, bias_;
  Kept statistics_;  // two rows a head
};

Slot normalised(Planner& p, Layers& layers, const std::string& layer, const Slot& qkv, const Config& config) {
  const std::string name = layer + ".nap";
  if (is_linear_less(p.chunk().length, config.model))
    return add_linear_normalised(p, layers, name, qkv, config.model);
  return layers.add<Normalised>(p, name, qkv, config.model).y();
}

}  // namespace

const Aggregation nap{
    .help = "logits normalised over the keys to mean 0 and deviation 1",
    .source = "arXiv:2005.09561",
    .pools = false,
    .aggregate = normalised,
    .scales_itself = false,
    .linear_operations = [](double query_key, double value) { return 2 * query_key * (query_key + value); }};

}  // namespace headlab::aggregations
