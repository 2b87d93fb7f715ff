#pragma once
#include <cmath>

#include "core/attention/aggregation.hpp"
#include "core/attention/heads.hpp"
#include "core/layers/dropout.hpp"

namespace headlab {

/// What weights see of a shift of all keys, so of all logits of a query. Where it vanishes, the keys'
/// gradients sum to zero; rounding leaves a rest, which would go into their bias, and is taken off.
enum class Shifts { vanish, show };

/// Heads that see all tokens of their sequence: o_i = sum_j a_ij v_j, the weights a_i a variant's function of
/// the logits l_ij = score_scale q_i . k_j over the keys j.    arXiv:1706.03762
///
/// qkv: (2 D_k + d, tokens), y: (d, tokens), see Heads. A variant keeps, in place of the logits, z with
/// a = gain z + shift: heads * N floats a token. Backward wants one head's weights' gradient more, which all
/// layers of a model share.
///
/// With dropout the values are multiplied by m_ij a_ij instead, m_ij the mask of row head N + j and token i:
/// one head's more, of which only the mask's bits are kept.
class Attention : public Layer {
 public:
  Attention(Planner& p, const std::string& name, const Slot& qkv, const Config::Model& model,
            float score_scale, Shifts shifts);
  const Slot& y() const { return y_; }

  void forward(const Context& c) final;
  void backward(const Context& c) final;
  LayerKind kind() const final { return LayerKind::attention; }

 protected:
  struct Affine {
    float gain, shift;
  };

 private:
  /// Writes z over a head's logits, (N, tokens): (keys, queries).
  virtual void normalise(const Context& c, Index head, const Matrix& z) = 0;
  /// Writes the gradient of the logits over that of the weights a, whose padding is zero.
  virtual void normalise_backward(const Context& c, Index head, const Matrix& z, const Matrix& da) = 0;
  virtual Affine affine(const Context& /*c*/, Index /*head*/) const { return {1, 0}; }

  Matrix kept(const Context& c, Index h) const { return rows(c.value(z_), h * length(), length()); }
  Matrix scratch(const Context& c, Index k) const;
  struct Weights {
    Matrix z;
    float gain, shift;
  };
  Weights weights(const Context& c, Index h) const;
  bool drops(const Context& c) const { return mask_ && c.work.masks; }
  kernels::Mask mask(const Context& c, Index h) const { return mask_->from(c, h * length()); }

  Index length() const { return heads_.chunk.length; }

  Input qkv_;
  Heads heads_;
  float score_scale_;
  Shifts shifts_;
  Kept z_;  // (heads * N, tokens): row h * N + j is key j of head h
  Slot y_;
  std::optional<DropoutMask> mask_;
};

/// 1 / sqrt(D_k / M); where heads are collaborative, 1 / sqrt(d / M) however much they share.
inline float score_scale(const Config::Model& m) {
  const bool shared = m.query_key == QueryKey::collaborative;
  return std::sqrt(float(m.heads) / float(shared ? m.dim : m.query_key_dim));
}

}  // namespace headlab
