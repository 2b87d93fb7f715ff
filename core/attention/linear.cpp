#include "core/attention/linear.hpp"

#include "core/kernels/attention.hpp"
#include "core/kernels/linear_attention.hpp"
#include "core/products/multiply.hpp"

namespace headlab {
namespace {

using dnn::transposed, products::map, products::outer;

/// What both have in common: cutting features into heads, and tokens into sequences.
class Linear : public Layer {
 public:
  const Slot& y() const { return y_; }

 protected:
  Linear(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : qkv_(p.use(qkv)),
        chunk_(p.chunk()),
        heads_(m.heads),
        query_key_(m.query_key_dim / m.heads),
        value_(m.dim / m.heads),
        y_(p.slot(name + ".y", m.dim)),
        key_value_(p.kept(name + ".key_value", heads_ * chunk_.sequences * query_key_, value_)) {
    require_heads(name, qkv, m);
  }
  struct Head {
    Matrix query, key, value;
  };
  Head head(const Matrix& qkv, Index h) const {
    return {rows(qkv, h * query_key_, query_key_), rows(qkv, (heads_ + h) * query_key_, query_key_),
            rows(qkv, 2 * heads_ * query_key_ + h * value_, value_)};
  }
  Matrix sequence(const Matrix& m, Index s) const { return columns(m, s * chunk_.length, chunk_.length); }
  Head sequence(const Head& x, Index s) const {
    return {sequence(x.query, s), sequence(x.key, s), sequence(x.value, s)};
  }
  Matrix output(const Matrix& y, Index h) const { return rows(y, h * value_, value_); }
  /// A of a head and sequence, (d_h of keys, d_h of values).
  Matrix key_value(const Context& c, Index h, Index s) const {
    return rows(c.value(key_value_), (h * chunk_.sequences + s) * query_key_, query_key_);
  }

  Input qkv_;
  Chunk chunk_;
  Index heads_, query_key_, value_;  // features of a head
  Slot y_;

 private:
  Kept key_value_;
};

class LinearScaled final : public Linear {
 public:
  LinearScaled(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m, float scale)
      : Linear(p, name, qkv, m), scale_(scale) {
    p.scratch(query_key_ * value_);
  }

  void forward(const Context& c) override {
    for (Index h = 0; h < heads_; ++h)
      for (Index s = 0; s < chunk_.sequences; ++s) {
        const Head x = sequence(head(c.value(qkv_), h), s);
        outer(x.key, x.value, key_value(c, h, s), scale_);
        map(key_value(c, h, s), x.query, sequence(output(c.value(y_), h), s));
      }
  }
  void backward(const Context& c) override {
    const bool add = c.arena.adds(qkv_);
    const Matrix da{c.arena.scratch.data(), query_key_, value_, value_};
    for (Index h = 0; h < heads_; ++h)
      for (Index s = 0; s < chunk_.sequences; ++s) {
        const Head x = sequence(head(c.value(qkv_), h), s), dx = sequence(head(c.grad(qkv_), h), s);
        const Matrix dy = sequence(output(c.grad(y_), h), s);
        outer(x.query, dy, da, scale_);
        map(transposed(key_value(c, h, s)), dy, dx.query, 1, add);
        map(transposed(da), x.value, dx.key, 1, add);
        map(da, x.key, dx.value, 1, add);
      }
  }

 private:
  float scale_;
};

class LinearNormalised final : public Linear {
 public:
  LinearNormalised(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : Linear(p, name, qkv, m),
        epsilon_(static_cast<float>(m.attention_epsilon)),
        gain_(p.parameter(name + ".gain", 1, m.heads)),
        bias_(p.parameter(name + ".bias", 1, m.heads)),
        key_(p.kept(name + ".centred_key", m.query_key_dim)),
        mixed_(p.kept(name + ".mixed_query", m.query_key_dim)),
        output_(p.kept(name + ".output", m.dim)),
        statistics_(p.kept(name + ".statistics", 2 * heads_)) {
    p.scratch(std::max(query_key_ * query_key_, backward_scratch()));
  }

  void forward(const Context& c) override {
    const Matrix keys = c.value(key_);
    for (Index h = 0; h < heads_; ++h) {
      const Head x = head(c.value(qkv_), h);
      const Matrix key = rows(keys, h * query_key_, query_key_), y = output(c.value(y_), h);
      centre(x.key, key);
      for (Index s = 0; s < chunk_.sequences; ++s) mix(c, h, s, x, sequence(key, s));
      kernels::linear_attention().statistics(centred(c, h), epsilon_);
      kernels::linear_attention().rescale(output(c.value(output_), h), scales(c, h), gain(c, h), y);
      if (bias(c, h) != 0) kernels::pooling().sum(x.value, y, chunk_.length, bias(c, h), true);
    }
  }

  void backward(const Context& c) override {
    for (Index h = 0; h < heads_; ++h) {
      const Scratch d = scratch(c);
      const Head x = head(c.value(qkv_), h), dx = head(c.grad(qkv_), h);
      const Matrix dy = output(c.grad(y_), h), t = output(c.value(output_), h);
      const auto& kernel = kernels::linear_attention();
      const bool add = c.arena.adds(qkv_);
      c.grad(gain_)(0, h) += kernel.backward(centred(c, h), t, dy, gain(c, h), dx.query, d.query, add);
      kernels::pooling().sum(x.value, d.output, chunk_.length, 1, false);
      c.grad(bias_)(0, h) += kernel.dot(d.output, dy);
      kernel.rescale(dy, scales(c, h), gain(c, h), d.output);
      for (Index s = 0; s < chunk_.sequences; ++s) unmix(c, h, s, d);
      add_centred(d.key, dx.key, add);
      if (bias(c, h) != 0) kernels::pooling().sum(dy, dx.value, chunk_.length, bias(c, h), true);
    }
  }

 private:
  /// Gradients, of which the first two are (features of a query, tokens), the third (of a value, tokens); of two
  /// small matrices after them.
  struct Scratch {
    Matrix query, key, output, mixing, key_value;
  };
  Index pitch() const { return statistics_.pitch; }
  Index backward_scratch() const {
    return (2 * query_key_ + value_) * pitch() + query_key_ * (query_key_ + value_);
  }
  Scratch scratch(const Context& c) const {
    float* next = c.arena.scratch.data();
    const auto take = [&](Index rows, Index cols, Index row_pitch) {
      return Matrix{std::exchange(next, next + rows * row_pitch), rows, cols, row_pitch};
    };
    const Index tokens = chunk_.tokens();
    return {take(query_key_, tokens, pitch()), take(query_key_, tokens, pitch()), take(value_, tokens, pitch()),
            take(query_key_, query_key_, query_key_), take(query_key_, value_, value_)};
  }

  /// y = x - the mean of its sequence, feature by feature.
  void centre(const Matrix& x, const Matrix& y) const {
    for (Index f = 0; f < x.rows; ++f) std::copy_n(x.row(f), round_up(x.cols, 32), y.row(f));
    kernels::pooling().sum(x, y, chunk_.length, -1 / static_cast<float>(chunk_.length), true);
  }
  /// A and C of a sequence, and what its queries make of them.
  void mix(const Context& c, Index h, Index s, const Head& x, const Matrix& key) const {
    const Matrix query = sequence(x.query, s);
    const Matrix mixing{c.arena.scratch.data(), query_key_, query_key_, query_key_};
    outer(key, sequence(x.value, s), key_value(c, h, s));
    outer(key, key, mixing);
    map(key_value(c, h, s), query, sequence(output(c.value(output_), h), s));
    map(mixing, query, sequence(rows(c.value(mixed_), h * query_key_, query_key_), s));
  }
  /// From the gradients of outputs before the bias, and with the queries' w q in d.query.
  void unmix(const Context& c, Index h, Index s, const Scratch& d) const {
    const Head x = sequence(head(c.value(qkv_), h), s), dx = sequence(head(c.grad(qkv_), h), s);
    const Matrix key = sequence(rows(c.value(key_), h * query_key_, query_key_), s);
    const Matrix dt = sequence(d.output, s), dkey = sequence(d.key, s);
    outer(x.query, dt, d.key_value);
    outer(x.query, sequence(d.query, s), d.mixing);
    map(transposed(key_value(c, h, s)), dt, dx.query, 1, true);
    map(transposed(d.key_value), x.value, dkey);
    map(d.mixing, key, dkey, 1, true);
    map(d.key_value, key, dx.value, 1, c.arena.adds(qkv_));
  }
  void add_centred(const Matrix& d, const Matrix& dx, bool add) const {
    for (Index f = 0; f < d.rows; ++f)
      for (Index t = 0; t < d.cols; ++t) dx(f, t) = d(f, t) + (add ? dx(f, t) : 0.F);
    kernels::pooling().sum(d, dx, chunk_.length, -1 / static_cast<float>(chunk_.length), true);
  }

  kernels::Centred centred(const Context& c, Index h) const {
    const auto of = [&](const Matrix& m) { return rows(m, h * query_key_, query_key_); };
    return {of(c.value(qkv_)), of(c.value(mixed_)), rows(c.value(statistics_), 2 * h, 2),
            static_cast<float>(chunk_.length)};
  }
  const float* scales(const Context& c, Index h) const { return c.value(statistics_).row(2 * h); }
  float gain(const Context& c, Index h) const { return c.value(gain_)(0, h); }
  float bias(const Context& c, Index h) const { return c.value(bias_)(0, h); }

  float epsilon_;
  Parameter gain_, bias_;
  Kept key_, mixed_, output_, statistics_;
};

}  // namespace

bool is_linear_less(const Chunk& chunk, const Config::Model& m) {
  return m.dropout == 0 && chunk.length > std::max(m.query_key_dim, m.dim) / m.heads;
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
