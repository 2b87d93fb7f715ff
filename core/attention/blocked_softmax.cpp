#include "core/attention/blocked_softmax.hpp"

#include "core/attention/heads.hpp"
#include "core/kernels/softmax.hpp"
#include "core/products/multiply.hpp"

namespace headlab {
namespace {

using dnn::transposed;

/// g = scale x y^T, or g += it, (rows of x, rows of y), a sum over columns. Few of them are turned round
/// first, as sums over lanes would cost more; scratch: turned(rows of y) floats.
constexpr Index few_columns = 32;
constexpr Index turned_pitch(Index rows) { return pitch_for(round_up(rows, 16)); }
constexpr Index turned(Index rows) { return few_columns * turned_pitch(rows); }
void sum_columns(const Matrix& x, const Matrix& y, const Matrix& g, float scale, bool add, float* scratch) {
  if (x.cols > std::min(x.rows, few_columns)) return products::outer(x, y, g, scale, add);
  const Matrix turned{scratch, y.cols, y.rows, turned_pitch(y.rows)};
  for (Index r = 0; r < y.rows; ++r)
    for (Index c = 0; c < y.cols; ++c) turned(c, r) = y(r, c);
  products::map(transposed(x), turned, g, scale, add);
}

/// What both kinds of heads have in common.
class Blocked : public Layer {
 public:
  const Slot& y() const { return y_; }
  LayerKind kind() const final { return LayerKind::attention; }

 protected:
  Blocked(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m, float scale)
      : qkv_(p.use(qkv)),
        heads_(p, name, qkv, m),
        scale_(scale),
        y_(p.slot(name + ".y", m.dim)),
        key_(p.kept(name + ".centred_key", m.query_key_dim)),
        statistics_(p.kept(name + ".statistics", 2 * heads_.count)) {
    if (are_kept(length())) exponentials_ = p.kept(name + ".exponentials", heads_.count * length());
  }

  static constexpr bool are_kept(Index length) { return length % 32 == 0 && length <= longest_kept; }

  Index length() const { return heads_.chunk.length; }
  Matrix statistics(const Context& c, Index h) const { return rows(c.value(statistics_), 2 * h, 2); }
  /// The logits' rows do not see a shift of all keys, and their gradients sum to zero but for rounding, of
  /// which centred keys leave less in the queries' gradients.
  void centre_keys(const Context& c) const {
    const Matrix keys = c.value(key_);
    heads_.centre(rows(c.value(qkv_), keys.rows, keys.rows), keys);
  }
  kernels::SoftmaxHead values(const Context& c, Index h, Index s) const {
    const Heads::Head x = heads_.sequence(heads_.head(c.value(qkv_), h), s);
    const Matrix key = heads_.sequence(rows(c.value(key_), h * heads_.query_key, heads_.query_key), s);
    return {x.query, key, x.value, heads_.sequence(statistics(c, h), s), exponentials(c, h, s), scale_};
  }
  kernels::SoftmaxHead gradients(const Context& c, Index h, Index s) const {
    const Heads::Head dx = heads_.sequence(heads_.head(c.grad(qkv_), h), s);
    return {dx.query, dx.key, dx.value, {}, {}, scale_};
  }

  /// Slopes of a head's tokens, at the beginning of the scratch memory.
  Index slopes_size() const { return (heads_.value + 1) * statistics_.pitch; }
  kernels::SoftmaxSlopes slopes(const Context& c, Index h) const {
    const Matrix all{c.arena.scratch.data(), heads_.value + 1, heads_.chunk.tokens(), statistics_.pitch};
    const kernels::SoftmaxSlopes slopes{rows(all, 0, heads_.value), rows(all, heads_.value, 1)};
    kernels::wide_softmax().slopes(heads_.output(c.value(y_), h), heads_.output(c.grad(y_), h),
                                   statistics(c, h).row(1), slopes);
    return slopes;
  }
  kernels::SoftmaxSlopes sequence(const kernels::SoftmaxSlopes& x, Index s) const {
    return {heads_.sequence(x.dy, s), heads_.sequence(x.mean, s)};
  }

  Input qkv_;
  Heads heads_;
  float scale_;
  Slot y_;

 private:
  Matrix exponentials(const Context& c, Index h, Index s) const {
    if (!exponentials_) return {};
    return heads_.sequence(rows(c.value(*exponentials_), h * length(), length()), s);
  }

  Kept key_;                          // (D_k, tokens), without their sequences' means
  Kept statistics_;                   // two rows a head
  std::optional<Kept> exponentials_;  // (heads * N, tokens): row h * N + j is key j of head h
};

class Narrow final : public Blocked {
 public:
  Narrow(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m, float scale)
      : Blocked(p, name, qkv, m, scale) {
    p.scratch(slopes_size() + kernels::NarrowSoftmax::scratch(heads_.query_key, length()));
  }

  void forward(const Context& c) override {
    centre_keys(c);
    for (Index h = 0; h < heads_.count; ++h)
      for (Index s = 0; s < heads_.chunk.sequences; ++s)
        kernels::narrow_softmax().forward(values(c, h, s), heads_.sequence(heads_.output(c.value(y_), h), s));
  }
  void backward(const Context& c) override {
    float* sums = c.arena.scratch.data() + slopes_size();
    for (Index h = 0; h < heads_.count; ++h) {
      const kernels::SoftmaxSlopes of_head = slopes(c, h);
      for (Index s = 0; s < heads_.chunk.sequences; ++s)
        kernels::narrow_softmax().backward(values(c, h, s), sequence(of_head, s), gradients(c, h, s),
                                           c.arena.adds(qkv_), sums);
    }
  }
};

class Wide final : public Blocked {
 public:
  Wide(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m, float scale)
      : Blocked(p, name, qkv, m, scale) {
    p.scratch(slopes_size() + blocks_size() + turned(length()));
  }

  void forward(const Context& c) override {
    const auto& kernel = kernels::wide_softmax();
    centre_keys(c);
    for (Index h = 0; h < heads_.count; ++h) {
      const Matrix y = heads_.output(c.value(y_), h);
      for (Index s = 0; s < heads_.chunk.sequences; ++s) {
        const kernels::SoftmaxHead x = values(c, h, s);
        for (Index t = 0; t < length(); t += block) {
          const Index count = std::min(block, length() - t);
          const Matrix l = are_kept(length()) ? columns(x.exponentials, t, count)
                                              : Matrix{c.arena.scratch.data(), length(), count, block};
          products::map(x.key, columns(x.query, t, count), l, scale_);
          kernel.weigh(l, x.statistics.row(0) + t, x.statistics.row(1) + t);
          products::map(transposed(x.value), l, columns(heads_.sequence(y, s), t, count));
        }
      }
      kernel.share(y, statistics(c, h).row(1));
    }
  }

  void backward(const Context& c) override {
    for (Index h = 0; h < heads_.count; ++h) {
      const kernels::SoftmaxSlopes of_head = slopes(c, h);
      for (Index s = 0; s < heads_.chunk.sequences; ++s) {
        const kernels::SoftmaxHead x = values(c, h, s), dx = gradients(c, h, s);
        if (are_kept(length()))
          backward_kept(c, x, sequence(of_head, s), dx);
        else
          for (Index t = 0; t < length(); t += panel) backward(c, x, sequence(of_head, s), dx, t);
      }
    }
  }

 private:
  static constexpr Index block = 32, panel = 128, panel_pitch = panel + 16;
  Index blocks_size() const {
    return length() * (are_kept(length()) ? pitch_for(length()) : block + panel_pitch);
  }

  void backward_kept(const Context& c, const kernels::SoftmaxHead& x, const kernels::SoftmaxSlopes& s,
                     const kernels::SoftmaxHead& dx) const {
    const bool add = c.arena.adds(qkv_);
    const Matrix dl{c.arena.scratch.data() + slopes_size(), length(), length(), pitch_for(length())};
    for (Index t = 0; t < length(); t += block) {
      const auto at = [&](const Matrix& m) { return columns(m, t, block); };
      products::map(x.value, at(s.dy), at(dl));
      kernels::wide_softmax().backward_kept(at(x.exponentials), at(dl), s.mean.row(0) + t);
      products::map(transposed(x.key), at(dl), at(dx.query), scale_, add);
    }
    float* scratch = dl.data + blocks_size();
    sum_columns(x.query, dl, dx.key, scale_, add, scratch);
    sum_columns(s.dy, x.exponentials, dx.value, 1, add, scratch);
  }

  /// Of a panel of keys from t on. Keys are columns, so that the gradients of keys and values are products
  /// with columns, too.
  void backward(const Context& c, const kernels::SoftmaxHead& x, const kernels::SoftmaxSlopes& s,
                const kernels::SoftmaxHead& dx, Index t) const {
    const auto& kernel = kernels::wide_softmax();
    const bool add = c.arena.adds(qkv_);
    float* scratch = c.arena.scratch.data() + slopes_size();
    const Index end = std::min(t + panel, length());
    const Matrix da{scratch + length() * block, length(), end - t, panel_pitch};
    for (Index j = t; j < end; j += block) {
      const Index count = std::min(block, end - j);
      const auto at = [&](const Matrix& m) { return columns(m, j, count); };
      const Matrix e{scratch, length(), count, block}, dl = columns(da, j - t, count);
      products::map(x.query, at(x.key), e, scale_);
      kernel.weigh_again(e, x.statistics.row(0));
      products::map(transposed(s.dy), e, at(dx.value), 1, add);
      products::map(s.dy, at(x.value), dl);
      kernel.backward(e, dl, s.mean.row(0));
      products::map(transposed(x.query), dl, at(dx.key), scale_, add);
    }
    sum_columns(columns(x.key, t, end - t), da, dx.query, scale_, add || t > 0, scratch + blocks_size());
  }
};

}  // namespace

Slot add_blocked_softmax(Planner& p, Layers& layers, const std::string& name, const Slot& qkv,
                         const Config::Model& model, float scale) {
  const Index of_key = model.query_key_dim / model.heads, of_value = model.dim / model.heads;
  if (of_key == of_value && of_value <= kernels::NarrowSoftmax::widest)
    return layers.add<Narrow>(p, name, qkv, model, scale).y();
  return layers.add<Wide>(p, name, qkv, model, scale).y();
}

}  // namespace headlab
