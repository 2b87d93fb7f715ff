#include "core/attention/attention.hpp"

#include "core/dnn/multiply.hpp"
#include "core/kernels/attention.hpp"

namespace headlab {

using dnn::multiply, dnn::transposed;

Attention::Attention(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m,
                     float score_scale)
    : qkv_(p.use(qkv)),
      chunk_(p.chunk()),
      heads_(m.heads),
      query_key_(m.query_key_dim / m.heads),
      value_(m.dim / m.heads),
      score_scale_(score_scale),
      z_(p.kept(name + ".weights", heads_ * chunk_.length)),
      y_(p.slot(name + ".y", m.dim)) {
  require(m.query_key_dim % heads_ == 0 && m.dim % heads_ == 0,
          "{}: cannot cut {} features of queries and {} of values into {} heads", name, m.query_key_dim,
          m.dim, heads_);
  require(qkv.rows == 2 * m.query_key_dim + m.dim, "{}: {} features for queries and keys of {}, values of {}",
          name, qkv.rows, m.query_key_dim, m.dim);
  if (m.dropout > 0) mask_.emplace(p, name + ".dropout", z_.rows, m.dropout);
  p.scratch((mask_ ? 2 : 1) * chunk_.length * z_.pitch);
}

Attention::Head Attention::head(const Matrix& qkv, Index h) const {
  return {rows(qkv, h * query_key_, query_key_), rows(qkv, (heads_ + h) * query_key_, query_key_),
          rows(qkv, 2 * heads_ * query_key_ + h * value_, value_)};
}

/// Matrix k of those that hold something of a head's weights, laid out as they are, padding zero.
Matrix Attention::scratch(const Context& c, Index k) const {
  const Matrix m{c.arena.scratch.data() + k * chunk_.length * z_.pitch, chunk_.length, z_.cols, z_.pitch};
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
  for (Index h = 0; h < heads_; ++h) {
    const Head x = head(c.value(qkv_), h);
    const Matrix logits = kept(c, h), y = output(c.value(y_), h);
    for (Index s = 0; s < chunk_.sequences; ++s)
      multiply(transposed(sequence(x.key, s)), sequence(x.query, s), sequence(logits, s), score_scale_);
    normalise(c, h, logits);
    const auto [z, gain, shift] = weights(c, h);
    if (shift != 0) kernels::pooling().sum(x.value, y, chunk_.length, shift, false);
    for (Index s = 0; s < chunk_.sequences; ++s)
      multiply(sequence(x.value, s), sequence(z, s), sequence(y, s), gain, shift != 0);
  }
}

void Attention::backward(const Context& c) {
  const bool add = c.arena.adds(qkv_);
  const Matrix da = scratch(c, 0);
  for (Index h = 0; h < heads_; ++h) {
    const Head x = head(c.value(qkv_), h), dx = head(c.grad(qkv_), h);
    const Matrix dy = output(c.grad(y_), h);
    const auto [z, gain, shift] = weights(c, h);
    if (shift != 0) kernels::pooling().sum(dy, dx.value, chunk_.length, shift, add);
    for (Index s = 0; s < chunk_.sequences; ++s) {
      multiply(sequence(dy, s), transposed(sequence(z, s)), sequence(dx.value, s), gain, add || shift != 0);
      multiply(transposed(sequence(x.value, s)), sequence(dy, s), sequence(da, s));
    }
    if (drops(c)) kernels::dropouts().weights(mask(c, h), da, 1, 0, da);
    normalise_backward(c, h, kept(c, h), da);
    for (Index s = 0; s < chunk_.sequences; ++s) {
      multiply(sequence(x.key, s), sequence(da, s), sequence(dx.query, s), score_scale_, add);
      multiply(sequence(x.query, s), transposed(sequence(da, s)), sequence(dx.key, s), score_scale_, add);
    }
  }
}

}  // namespace headlab
