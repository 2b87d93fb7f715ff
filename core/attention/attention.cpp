#include "core/attention/attention.hpp"

#include "core/kernels/attention.hpp"
#include "core/products/multiply.hpp"

namespace headlab {

using dnn::transposed, products::map, products::outer;

Attention::Attention(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m,
                     float score_scale, Shifts shifts)
    : qkv_(p.use(qkv)),
      heads_(p, name, qkv, m),
      score_scale_(score_scale),
      shifts_(shifts),
      z_(p.kept(name + ".weights", heads_.count * length())),
      y_(p.slot(name + ".y", m.dim)) {
  if (m.dropout > 0) mask_.emplace(p, name + ".dropout", z_.rows, m.dropout);
  p.scratch((mask_ ? 2 : 1) * length() * z_.pitch);
}

/// Matrix k of those that hold something of a head's weights, laid out as they are, padding zero.
Matrix Attention::scratch(const Context& c, Index k) const {
  const Matrix m{c.arena.scratch.data() + k * length() * z_.pitch, length(), z_.cols, z_.pitch};
  for (Index j = 0; j < m.rows; ++j) std::fill_n(m.row(j) + m.cols, round_up(m.cols, 32) - m.cols, 0.F);
  return m;
}

/// What the values are multiplied by, gain z + shift.
Attention::Weights Attention::weights(const Context& c, Index h) const {
  const auto [gain, shift] = affine(c, h);
  if (!drops(c)) return {kept(c, h), gain, shift};
  const Matrix masked = scratch(c, 1);
  kernels::dropouts().weights(mask(c, h), kept(c, h), gain, shift, masked);
  return {masked, 1, 0};
}

void Attention::forward(const Context& c) {
  if (mask_) mask_->draw(c);
  for (Index h = 0; h < heads_.count; ++h) {
    const Heads::Head x = heads_.head(c.value(qkv_), h);
    const Matrix logits = kept(c, h), y = heads_.output(c.value(y_), h);
    for (Index s = 0; s < heads_.chunk.sequences; ++s)
      map(heads_.sequence(x.key, s), heads_.sequence(x.query, s), heads_.sequence(logits, s), score_scale_);
    normalise(c, h, logits);
    const auto [z, gain, shift] = weights(c, h);
    if (shift != 0) kernels::pooling().sum(x.value, y, length(), shift, false);
    for (Index s = 0; s < heads_.chunk.sequences; ++s)
      map(transposed(heads_.sequence(x.value, s)), heads_.sequence(z, s), heads_.sequence(y, s), gain,
          shift != 0);
  }
}

void Attention::backward(const Context& c) {
  const bool add = c.arena.adds(qkv_);
  const Matrix da = scratch(c, 0);
  for (Index h = 0; h < heads_.count; ++h) {
    const Heads::Head x = heads_.head(c.value(qkv_), h), dx = heads_.head(c.grad(qkv_), h);
    const Matrix dy = heads_.output(c.grad(y_), h);
    const auto [z, gain, shift] = weights(c, h);
    if (shift != 0) kernels::pooling().sum(dy, dx.value, length(), shift, add);
    for (Index s = 0; s < heads_.chunk.sequences; ++s) {
      outer(heads_.sequence(dy, s), heads_.sequence(z, s), heads_.sequence(dx.value, s), gain,
            add || shift != 0);
      map(heads_.sequence(x.value, s), heads_.sequence(dy, s), heads_.sequence(da, s));
    }
    if (drops(c)) kernels::dropouts().weights(mask(c, h), da, 1, 0, da);
    normalise_backward(c, h, kept(c, h), da);
    for (Index s = 0; s < heads_.chunk.sequences; ++s) {
      map(transposed(heads_.sequence(x.key, s)), heads_.sequence(da, s), heads_.sequence(dx.query, s),
          score_scale_, add);
      outer(heads_.sequence(x.query, s), heads_.sequence(da, s), heads_.sequence(dx.key, s), score_scale_,
            add);
    }
    if (shifts_ == Shifts::vanish && !add) heads_.centre(dx.key, dx.key);
  }
}

}  // namespace headlab
