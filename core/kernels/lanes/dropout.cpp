// f: feature or key, t: token.
#include "core/kernels/dropout.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

using Bits = stdx::rebind_simd_t<std::int32_t, Vec>;

/// m of one row. It multiplies, so that NaN stays NaN even where it is dropped.
struct RowMask {
  const float* bits;
  int to_sign;  ///< by how much to shift the row's bit to the left
  float scale;

  RowMask(const Mask& m, Index row)
      : bits(m.bits.data == nullptr ? nullptr : m.bits.row((m.first + row) / 32)),
        to_sign(int(31 - (m.first + row) % 32)),
        scale(m.scale) {}

  Vec factor(const Vec& words) const {
    const Bits kept = (std::bit_cast<Bits>(words) << to_sign) >> 31;  // all ones or zeros
    return std::bit_cast<Vec>(std::bit_cast<Bits>(Vec(scale)) & kept);
  }
  Tile operator()(const Tile& x, Index t) const {
    if (bits == nullptr) return x;
    const Tile words(bits + t);
    return {x.a * factor(words.a), x.b * factor(words.b)};
  }
};

void forward(Mask m, Dropout v) {
  for (Index f = 0; f < v.u.rows; ++f) {
    const RowMask mask(m, f);
    const float bias = entry(v.bias, f);
    for (Index t = 0; t < v.u.cols; t += Tile::size) {
      const Tile kept = mask(Tile(v.u.row(f) + t) + bias, t);
      (v.x.data == nullptr ? kept : Tile(v.x.row(f) + t) + kept).store(v.y.row(f) + t);
    }
  }
}

void backward(Mask m, Dropout d, bool add_x, bool add_u) {
  for (Index f = 0; f < d.u.rows; ++f) {
    const RowMask mask(m, f);
    Tile bias = 0;
    for (Index t = 0; t < d.u.cols; t += Tile::size) {
      const Tile dy(d.y.row(f) + t), du = mask(dy, t);
      put(d.u.row(f) + t, du, add_u);  // the last input first: x and u may be one slot
      if (d.x.data != nullptr) put(d.x.row(f) + t, dy, add_x);
      bias += du;
    }
    if (d.bias.data != nullptr) d.bias.data[f] += sum(bias);
  }
}

void weights(Mask m, Matrix z, float gain, float shift, Matrix masked) {
  for (Index f = 0; f < z.rows; ++f) {
    const RowMask mask(m, f);
    for (Index t = 0; t < z.cols; t += Tile::size)
      mask(Tile(z.row(f) + t) * gain + shift, t).store(masked.row(f) + t);
  }
}

}  // namespace

const Dropouts dropouts{forward, backward, weights};

}  // namespace headlab::kernels::HEADLAB_ISA
