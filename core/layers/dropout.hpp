#pragma once
// Dropout: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout: a simple way to prevent neural
// networks from overfitting", JMLR 15 (2014), here with kept values scaled up in training.
#include <cstring>
#include <optional>

#include "core/base/random.hpp"
#include "core/kernels/dropout.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

enum class Drops {
  each,    ///< every token has a mask of its own
  shared,  ///< one for all tokens of a sequence
};

/// m = 1 / (1 - p) with probability 1 - p, else 0, for each row and token; 1 where the work has no masks.
///
/// A mask is a function of (seed, step, name, sequence in the batch, row, token, N), drawn as SkewedBits of
/// Purpose::dropout: of a sequence and 32 rows, tokens 8 k to 8 k + 7 are a group, 32 bits each.
class DropoutMask {
 public:
  DropoutMask(Planner& p, const std::string& name, Index rows, double rate, Drops drops = Drops::each)
      : length_(p.chunk().length),
        drops_(drops),
        bits_(p.kept(name + ".bits", (rows + 31) / 32)),
        draw_(rate, Purpose::dropout, name),
        scale_(static_cast<float>(1 / (1 - rate))) {}

  /// Draws the masks of the chunk's sequences, if there are any, all before its first tile.
  void draw(const Context& c) const {
    if (!c.work.masks || c.first() > 0) return;
    const Matrix bits = c.whole().value(bits_);
    for (Index r = 0; r < bits.rows; ++r)
      for (Index t = 0; t < bits.cols; t += length_) draw(*c.work.masks, t / length_, r, bits.row(r) + t);
  }
  /// Those of the rows from `first` on.
  kernels::Mask from(const Context& c, Index first = 0) const {
    return {c.work.masks ? c.value(bits_) : Matrix{}, first, scale_};
  }

 private:
  /// Of 32 rows and the N tokens of a sequence.
  void draw(const Masks& masks, Index sequence, Index rows, float* bits) const {
    constexpr Index together = 8;
    const bool each = drops_ == Drops::each;
    const Index drawn = each ? length_ : 1, groups = (drawn + together - 1) / together;
    for (Index g = 0; g < groups; ++g) {
      const auto words = draw_(masks.seed, masks.step, static_cast<std::uint64_t>(masks.first + sequence),
                               static_cast<std::uint64_t>(rows * groups + g));
      const auto count = static_cast<std::size_t>(std::min(together, drawn - g * together));
      std::memcpy(bits + g * together, words.data(), count * sizeof(float));
    }
    for (Index t = drawn; t < length_; ++t) std::memcpy(bits + t, bits, sizeof(float));
  }
  Index length_;
  Drops drops_;
  Kept bits_;  // row r is bit r % 32 of row r / 32
  SkewedBits draw_;
  float scale_;
};

/// y = m (u + bias(u)), or x + m (u + bias(u)), bias that of the linear layer before, if there is one.
///
/// x, u, y: (features, tokens), bias: (1, features).
class Dropout final : public Layer {
 public:
  Dropout(Planner& p, const std::string& name, const std::optional<Slot>& x, const Slot& u,
          const std::optional<Parameter>& bias, double rate, Drops drops = Drops::each)
      : x_(x ? std::optional<Input>(p.use(*x)) : std::nullopt),
        u_(p.use(u)),
        bias_(bias),
        mask_(p, name, u.rows, rate, drops),
        y_(p.slot(name + ".y", u.rows)) {
    require(u.cols == p.chunk().tokens(), "{}: {} columns are not {} tokens", name, u.cols,
            p.chunk().tokens());
    require(!bias || bias->cols == u.rows, "{}: {} biases for {} features", name, bias ? bias->cols : 0,
            u.rows);
    require(!x || (x->rows == u.rows && x->cols == u.cols), "{}: cannot add {} x {} to {} x {}", name, u.rows,
            u.cols, x ? x->rows : 0, x ? x->cols : 0);
  }
  const Slot& y() const { return y_; }

  bool token_wise() const override { return true; }
  void forward(const Context& c) override {
    mask_.draw(c);
    kernels::dropouts().forward(mask_.from(c), {x_ ? c.value(*x_) : Matrix{}, c.value(u_),
                                                bias_ ? c.value(*bias_) : Matrix{}, c.value(y_)});
  }
  void backward(const Context& c) override {
    kernels::dropouts().backward(
        mask_.from(c),
        {x_ ? c.grad(*x_) : Matrix{}, c.grad(u_), bias_ ? c.grad(*bias_) : Matrix{}, c.grad(y_)},
        x_ && c.arena.adds(*x_), c.arena.adds(u_));
  }
  LayerKind kind() const override { return LayerKind::dropout; }

 private:
  std::optional<Input> x_;
  Input u_;
  std::optional<Parameter> bias_;
  DropoutMask mask_;
  Slot y_;
};

}  // namespace headlab
