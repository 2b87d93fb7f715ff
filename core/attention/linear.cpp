#include "core/attention/linear.hpp"

#include <algorithm>
#include <functional>

#include "core/kernels/attention.hpp"
#include "core/kernels/linear_attention.hpp"
#include "core/products/multiply.hpp"

namespace headlab {
namespace {

using dnn::transposed, products::map, products::outer;

/// What both have in common.
class LinearAttention : public Layer {
 public:
  const Slot& y() const { return y_; }
  LayerKind kind() const final { return LayerKind::attention; }

 protected:
  LinearAttention(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : qkv_(p.use(qkv)),
        heads_(p, name, qkv, m),
        y_(p.slot(name + ".y", m.dim)),
        key_value_(p.kept(name + ".key_value", heads_.count * heads_.chunk.sequences * heads_.query_key,
                          heads_.value)) {}

  Index length() const { return heads_.chunk.length; }
  Index sequences() const { return heads_.chunk.sequences; }
  /// A of a head and sequence, (d_h of keys, d_h of values).
  Matrix key_value(const Context& c, Index h, Index s) const {
    return rows(c.value(key_value_), (h * sequences() + s) * heads_.query_key, heads_.query_key);
  }

  Input qkv_;
  Heads heads_;
  Slot y_;

 private:
  Kept key_value_;
};

class LinearScaled final : public LinearAttention {
 public:
  LinearScaled(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m, float scale)
      : LinearAttention(p, name, qkv, m), scale_(scale) {
    p.scratch(heads_.query_key * heads_.value);
  }

  void forward(const Context& c) override {
    for (Index h = 0; h < heads_.count; ++h)
      for (Index s = 0; s < sequences(); ++s) {
        const Heads::Head x = heads_.sequence(heads_.head(c.value(qkv_), h), s);
        outer(x.key, x.value, key_value(c, h, s), scale_);
        map(key_value(c, h, s), x.query, heads_.sequence(heads_.output(c.value(y_), h), s));
      }
  }
  void backward(const Context& c) override {
    const bool add = c.arena.adds(qkv_);
    const Matrix da{c.arena.scratch.data(), heads_.query_key, heads_.value, heads_.value};
    for (Index h = 0; h < heads_.count; ++h)
      for (Index s = 0; s < sequences(); ++s) {
        const Heads::Head x = heads_.sequence(heads_.head(c.value(qkv_), h), s),
                          dx = heads_.sequence(heads_.head(c.grad(qkv_), h), s);
        const Matrix dy = heads_.sequence(heads_.output(c.grad(y_), h), s);
        outer(x.query, dy, da, scale_);
        map(transposed(key_value(c, h, s)), dy, dx.query, 1, add);
        map(transposed(da), x.value, dx.key, 1, add);
        map(da, x.key, dx.value, 1, add);
      }
  }

 private:
  float scale_;
};

class LinearNormalised final : public LinearAttention {
 public:
  LinearNormalised(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : LinearAttention(p, name, qkv, m),
        epsilon_(static_cast<float>(m.attention_epsilon)),
        gain_(p.parameter(name + ".gain", 1, m.heads)),
        bias_(p.parameter(name + ".bias", 1, m.heads)),
        key_(p.kept(name + ".centred_key", m.query_key_dim)),
        mixed_(p.kept(name + ".mixed_query", m.query_key_dim)),
        output_(p.kept(name + ".output", m.dim)),
        statistics_(p.kept(name + ".statistics", 2 * heads_.count)) {
    p.scratch(std::max(heads_.query_key * heads_.query_key, backward_scratch()));
  }

  void forward(const Context& c) override {
    const Matrix keys = c.value(key_);
    for (Index h = 0; h < heads_.count; ++h) {
      const Heads::Head x = heads_.head(c.value(qkv_), h);
      const Matrix key = rows(keys, h * heads_.query_key, heads_.query_key),
                   y = heads_.output(c.value(y_), h);
      heads_.centre(x.key, key);
      for (Index s = 0; s < sequences(); ++s) mix(c, h, s, x, heads_.sequence(key, s));
      kernels::linear_attention().statistics(centred(c, h), epsilon_);
      kernels::linear_attention().rescale(heads_.output(c.value(output_), h), scales(c, h), gain(c, h), y);
      if (bias(c, h) != 0) kernels::pooling().sum(x.value, y, length(), bias(c, h), true);
    }
  }

  void backward(const Context& c) override {
    for (Index h = 0; h < heads_.count; ++h) {
      const Scratch d = scratch(c);
      const Heads::Head x = heads_.head(c.value(qkv_), h), dx = heads_.head(c.grad(qkv_), h);
      const Matrix dy = heads_.output(c.grad(y_), h), t = heads_.output(c.value(output_), h);
      const auto& kernel = kernels::linear_attention();
      const bool add = c.arena.adds(qkv_);
      c.grad(gain_)(0, h) += kernel.backward(centred(c, h), t, dy, gain(c, h), dx.query, d.query, add);
      kernels::pooling().sum(x.value, d.output, length(), 1, false);
      c.grad(bias_)(0, h) += kernel.dot(d.output, dy);
      kernel.rescale(dy, scales(c, h), gain(c, h), d.output);
      for (Index s = 0; s < sequences(); ++s) unmix(c, h, s, d);
      add_centred(d.key, dx.key, add);
      if (bias(c, h) != 0) kernels::pooling().sum(dy, dx.value, length(), bias(c, h), true);
    }
  }

 private:
  /// Gradients, of which the first two are (features of a query, tokens), the third (of a value, tokens); of
  /// two small matrices after them.
  struct Scratch {
    Matrix query, key, output, mixing, key_value;
  };
  Index pitch() const { return statistics_.pitch; }
  Index backward_scratch() const {
    return (2 * heads_.query_key + heads_.value) * pitch() +
           heads_.query_key * (heads_.query_key + heads_.value);
  }
  Scratch scratch(const Context& c) const {
    float* next = c.arena.scratch.data();
    const auto take = [&](Index rows, Index cols, Index row_pitch) {
      return Matrix{std::exchange(next, next + rows * row_pitch), rows, cols, row_pitch};
    };
    const Index tokens = heads_.chunk.tokens(), q = heads_.query_key, v = heads_.value;
    const Scratch d{take(q, tokens, pitch()), take(q, tokens, pitch()), take(v, tokens, pitch()),
                    take(q, q, q), take(q, v, v)};
    for (Index f = 0; f < v; ++f)  // where only the tokens' columns are written, and all are summed
      std::fill_n(d.output.row(f) + tokens, round_up(tokens, 32) - tokens, 0.F);
    return d;
  }

  /// A and C of a sequence, and what its queries make of them.
  void mix(const Context& c, Index h, Index s, const Heads::Head& x, const Matrix& key) const {
    const Matrix query = heads_.sequence(x.query, s);
    const Matrix mixing{c.arena.scratch.data(), heads_.query_key, heads_.query_key, heads_.query_key};
    outer(key, heads_.sequence(x.value, s), key_value(c, h, s));
    outer(key, key, mixing);
    map(key_value(c, h, s), query, heads_.sequence(heads_.output(c.value(output_), h), s));
    map(mixing, query, heads_.sequence(rows(c.value(mixed_), h * heads_.query_key, heads_.query_key), s));
  }
  /// From the gradients of outputs before the bias, and with the queries' w q in d.query.
  void unmix(const Context& c, Index h, Index s, const Scratch& d) const {
    const Heads::Head x = heads_.sequence(heads_.head(c.value(qkv_), h), s),
                      dx = heads_.sequence(heads_.head(c.grad(qkv_), h), s);
    const Matrix key = heads_.sequence(rows(c.value(key_), h * heads_.query_key, heads_.query_key), s);
    const Matrix dt = heads_.sequence(d.output, s), dkey = heads_.sequence(d.key, s);
    outer(x.query, dt, d.key_value);
    outer(x.query, heads_.sequence(d.query, s), d.mixing);
    map(transposed(key_value(c, h, s)), dt, dx.query, 1, true);
    map(transposed(d.key_value), x.value, dkey);
    map(d.mixing, key, dkey, 1, true);
    map(d.key_value, key, dx.value, 1, c.arena.adds(qkv_));
  }
  void add_centred(const Matrix& d, const Matrix& dx, bool add) const {
    for (Index f = 0; f < d.rows; ++f) {
      if (add)
        std::transform(d.row(f), d.row(f) + d.cols, dx.row(f), dx.row(f), std::plus<>());
      else
        std::copy_n(d.row(f), d.cols, dx.row(f));
    }
    kernels::pooling().sum(d, dx, length(), -1 / static_cast<float>(length()), true);
  }

  kernels::Centred centred(const Context& c, Index h) const {
    const auto of = [&](const Matrix& m) { return rows(m, h * heads_.query_key, heads_.query_key); };
    return {of(c.value(qkv_)), of(c.value(mixed_)), rows(c.value(statistics_), 2 * h, 2),
            static_cast<float>(length())};
  }
  const float* scales(const Context& c, Index h) const { return c.value(statistics_).row(2 * h); }
  float gain(const Context& c, Index h) const { return c.value(gain_)(0, h); }
  float bias(const Context& c, Index h) const { return c.value(bias_)(0, h); }

  float epsilon_;
  Parameter gain_, bias_;
  Kept key_, mixed_, output_, statistics_;
};

}  // namespace

bool is_linear_less(Index length, const Config::Model& m) {
  return m.dropout == 0 && length > std::max(m.query_key_dim, m.dim) / m.heads;
}

bool runs_linear(Index length, const Config::Model& m) {
  return aggregation(m.architecture).linear_operations != nullptr && is_linear_less(length, m);
}

Slot add_linear_scaled(Planner& p, Layers& layers, const std::string& name, const Slot& qkv,
                       const Config::Model& m, float scale) {
  return layers.add<LinearScaled>(p, name, qkv, m, scale).y();
}
Slot add_linear_normalised(Planner& p, Layers& layers, const std::string& name, const Slot& qkv,
                           const Config::Model& m) {
  return layers.add<LinearNormalised>(p, name, qkv, m).y();
}

}  // namespace headlab
