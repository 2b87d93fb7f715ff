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
  p.scratch(chunk_.length * z_.pitch);
}

Attention::Head Attention::head(const Matrix& qkv, Index h) const {
  return {rows(qkv, h * query_key_, query_key_), rows(qkv, (heads_ + h) * query_key_, query_key_),
          rows(qkv, 2 * heads_ * query_key_ + h * value_, value_)};
}

/// The gradient of a head's weights, laid out as they are.
Matrix Attention::scratch(const Context& c) const {
  const Matrix da{c.arena.scratch.data(), chunk_.length, z_.cols, z_.pitch};
  for (Index j = 0; j < da.rows; ++j) std::fill_n(da.row(j) + da.cols, round_up(da.cols, 32) - da.cols, 0.F);
  return da;
}

void Attention::forward(const Context& c) {
  for (Index h = 0; h < heads_; ++h) {
    const Head x = head(c.value(qkv_), h);
    const Matrix z = kept(c, h), y = output(c.value(y_), h);
    for (Index s = 0; s < chunk_.sequences; ++s)
      multiply(transposed(sequence(x.key, s)), sequence(x.query, s), sequence(z, s), score_scale_);
    normalise(c, h, z);
    const auto [gain, shift] = affine(c, h);
    if (shift != 0) kernels::pooling().sum(x.value, y, chunk_.length, shift, false);
    for (Index s = 0; s < chunk_.sequences; ++s)
      multiply(sequence(x.value, s), sequence(z, s), sequence(y, s), gain, shift != 0);
  }
}

void Attention::backward(const Context& c) {
  const bool add = c.arena.adds(qkv_);
  const Matrix da = scratch(c);
  for (Index h = 0; h < heads_; ++h) {
    const Head x = head(c.value(qkv_), h), dx = head(c.grad(qkv_), h);
    const Matrix z = kept(c, h), dy = output(c.grad(y_), h);
    const auto [gain, shift] = affine(c, h);
    if (shift != 0) kernels::pooling().sum(dy, dx.value, chunk_.length, shift, add);
    for (Index s = 0; s < chunk_.sequences; ++s) {
      multiply(sequence(dy, s), transposed(sequence(z, s)), sequence(dx.value, s), gain, add || shift != 0);
      multiply(transposed(sequence(x.value, s)), sequence(dy, s), sequence(da, s));
    }
    normalise_backward(c, h, z, da);
    for (Index s = 0; s < chunk_.sequences; ++s) {
      multiply(sequence(x.key, s), sequence(da, s), sequence(dx.query, s), score_scale_, add);
      multiply(sequence(x.query, s), transposed(sequence(da, s)), sequence(dx.key, s), score_scale_, add);
    }
  }
}

}  // namespace headlab
