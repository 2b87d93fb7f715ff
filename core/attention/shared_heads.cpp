#include "core/attention/shared_heads.hpp"

#include "core/kernels/shared_heads.hpp"
#include "core/layers/linear.hpp"

namespace headlab {
namespace {

void copy(const Matrix& x, const Matrix& y) {
  for (Index r = 0; r < x.rows; ++r) std::copy_n(x.row(r), round_up(x.cols, 32), y.row(r));
}

/// Shared queries, keys and content biases x: (2 D~_k + M, tokens) with values v: (d, tokens), as y: (2 M
/// (D~_k + 1) + d, tokens), heads with queries and keys of their own.
class CollaborativeHeads final : public Layer {
 public:
  CollaborativeHeads(Planner& p, const std::string& name, const Slot& x, const Slot& v,
                     const Config::Model& m)
      : x_(p.use(x)),
        v_(p.use(v)),
        heads_(m.heads),
        shared_(m.query_key_dim),
        mixing_(p.parameter(name + ".mixing", heads_, shared_)),
        y_(p.slot(name + ".heads", 2 * heads_ * (shared_ + 1) + v.rows)) {}
  const Slot& y() const { return y_; }

  bool token_wise() const override { return true; }
  LayerKind kind() const override { return LayerKind::attention; }
  void forward(const Context& c) override {
    const Matrix y = c.value(y_);
    kernels::shared_heads().mix(parts(c.value(x_), c.value(mixing_), y));
    copy(c.value(v_), values(y));
  }
  void backward(const Context& c) override {
    const Matrix dy = c.grad(y_);
    kernels::shared_heads().sum(values(dy), c.grad(v_), c.arena.adds(v_));
    kernels::shared_heads().mix_backward(parts(c.value(x_), c.value(mixing_), c.value(y_)),
                                         parts(c.grad(x_), c.grad(mixing_), dy), c.arena.adds(x_));
  }

 private:
  Index wide() const { return heads_ * (shared_ + 1); }
  Matrix values(const Matrix& y) const { return rows(y, 2 * wide(), v_.rows); }
  kernels::MixedHeads parts(const Matrix& x, const Matrix& mixing, const Matrix& y) const {
    return {rows(x, 0, shared_), rows(x, shared_, shared_), rows(x, 2 * shared_, heads_), mixing,
            rows(y, 0, wide()),  rows(y, wide(), wide())};
  }

  Input x_, v_;
  Index heads_, shared_;
  Parameter mixing_;
  Slot y_;
};

/// Queries of heads, keys of one, values x: (D_k + D_k / M + d, tokens), as y: (2 D_k + d, tokens).
class OneKeyHead final : public Layer {
 public:
  OneKeyHead(Planner& p, const std::string& name, const Slot& x, const Config::Model& m)
      : x_(p.use(x)),
        queries_(m.query_key_dim),
        keys_(m.query_key_dim / m.heads),
        y_(p.slot(name + ".heads", 2 * m.query_key_dim + m.dim)) {}
  const Slot& y() const { return y_; }

  bool token_wise() const override { return true; }
  LayerKind kind() const override { return LayerKind::attention; }
  void forward(const Context& c) override {
    const Matrix x = c.value(x_), y = c.value(y_);
    copy(rows(x, 0, queries_), rows(y, 0, queries_));
    for (Index first = queries_; first < 2 * queries_; first += keys_)
      copy(rows(x, queries_, keys_), rows(y, first, keys_));
    copy(values(x, queries_ + keys_), values(y, 2 * queries_));
  }
  void backward(const Context& c) override {
    const Matrix dx = c.grad(x_), dy = c.grad(y_);
    const auto sum = [add = c.arena.adds(x_)](const Matrix& from, const Matrix& to) {
      kernels::shared_heads().sum(from, to, add);
    };
    sum(rows(dy, 0, queries_), rows(dx, 0, queries_));
    sum(rows(dy, queries_, queries_), rows(dx, queries_, keys_));
    sum(values(dy, 2 * queries_), values(dx, queries_ + keys_));
  }

 private:
  static Matrix values(const Matrix& m, Index first) { return rows(m, first, m.rows - first); }

  Input x_;
  Index queries_, keys_;
  Slot y_;
};

}  // namespace

Config of_layer(Config config, std::int64_t k) {
  Config::Model& m = config.model;
  if (m.converted.empty()) return config;
  const auto& own = m.converted.at(static_cast<std::size_t>(k));
  m.query_key = own.query_key;
  m.query_key_dim = own.dim;
  return config;
}

double over_layers(const Config& config, const std::function<double(const Config::Model&)>& f) {
  if (config.model.converted.empty()) return double(config.model.layers) * f(config.model);
  double sum = 0;
  for (std::int64_t k = 0; k < config.model.layers; ++k) sum += f(of_layer(config, k).model);
  return sum;
}

QueryKeyWidths query_key_widths(const Config::Model& m) {
  const auto d = double(m.dim), heads = double(m.heads), keys = double(m.query_key_dim);
  switch (m.query_key) {
    case QueryKey::collaborative:
      return {keys, keys + heads, d * (2 * keys + heads) + heads * keys};
    case QueryKey::multi_query:
      return {keys, keys / heads, (d + 1) * (keys + keys / heads)};
    case QueryKey::concatenated:
      break;
  }
  return {keys, keys, (d + 1) * 2 * keys};
}

Config::Model as_attended(Config::Model m) {
  if (m.query_key == QueryKey::collaborative) m.query_key_dim = m.heads * (m.query_key_dim + 1);
  return m;
}

Slot add_query_key_value(Planner& p, Layers& layers, const std::string& layer, const Slot& x,
                         const Config::Model& m) {
  const Part query{layer + ".query", m.query_key_dim}, value{layer + ".value", m.dim};
  if (m.query_key == QueryKey::collaborative) {
    const std::vector<Part> shared{{layer + ".query.weight", m.query_key_dim},
                                   {layer + ".key.weight", m.query_key_dim},
                                   {layer + ".content_bias", m.heads}};
    const Slot compared = layers.add<Linear>(p, shared, x).y();
    const Slot values = layers.add<Linear>(p, value.name, x, value.cols, Bias::here).y();
    return layers.add<CollaborativeHeads>(p, layer, compared, values, m).y();
  }
  const bool one_key_head = m.query_key == QueryKey::multi_query;
  const Part key{layer + ".key", m.query_key_dim / (one_key_head ? m.heads : 1)};
  const Slot all = layers.add<Linear>(p, std::vector{query, key, value}, x, Bias::here).y();  // one product
  return one_key_head ? layers.add<OneKeyHead>(p, layer, all, m).y() : all;
}

}  // namespace headlab
