// f: feature, t: token. The inner loop is over features where a sum a token is wanted, else over tokens.
#include "core/kernels/rows.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

constexpr float eps = 1e-3F;

void put(float* to, const Tile& x, bool add) { (add ? Tile(to) + x : x).store(to); }

void norm_statistics(NormGelu v) {
  const float share = 1.F / static_cast<float>(v.x.rows);
  for (Index t = 0; t < v.x.cols; t += Tile::size) {
    Tile mean = 0, var = 0;
    for (Index f = 0; f < v.x.rows; ++f) mean += Tile(v.x.row(f) + t) + v.bias.data[f];
    mean = mean * share;
    for (Index f = 0; f < v.x.rows; ++f) {
      const Tile centred = Tile(v.x.row(f) + t) + v.bias.data[f] - mean;
      var += centred * centred;
    }
    mean.store(v.statistics.row(0) + t);
    (1.F / sqrt(var * share + eps)).store(v.statistics.row(1) + t);
  }
}

Tile normalised(NormGelu v, float bias, Index f, Index t) {
  return (Tile(v.x.row(f) + t) + bias - Tile(v.statistics.row(0) + t)) * Tile(v.statistics.row(1) + t);
}

void norm_gelu(NormGelu v) {
  norm_statistics(v);
  for (Index f = 0; f < v.x.rows; ++f) {
    const float bias = v.bias.data[f], gain = v.gain.data[f], shift = v.shift.data[f];
    for (Index t = 0; t < v.x.cols; t += Tile::size) {
      const Tile z = normalised(v, bias, f, t) * gain + shift;
      const Gelu a(z.a), b(z.b);
      Tile(a.value, b.value).store(v.y.row(f) + t);
      Tile(a.slope, b.slope).store(v.slope.row(f) + t);
    }
  }
}

/// With n the normalised input and e = gain dz: the means over the features of e and of e n, by deviation.
void norm_gelu_sums(NormGelu v, NormGelu d) {
  const float share = 1.F / static_cast<float>(v.x.rows);
  for (Index t = 0; t < v.x.cols; t += Tile::size) {
    Tile mean = 0, slant = 0;
    for (Index f = 0; f < v.x.rows; ++f) {
      const Tile e = Tile(d.y.row(f) + t) * Tile(v.slope.row(f) + t) * v.gain.data[f];
      mean += e;
      slant += e * normalised(v, v.bias.data[f], f, t);
    }
    const Tile scale = Tile(v.statistics.row(1) + t) * share;
    (mean * scale).store(v.statistics.row(2) + t);
    (slant * scale).store(v.statistics.row(3) + t);
  }
}

/// dx = (e - mean(e) - n mean(e n)) / deviation
void norm_gelu_backward(NormGelu v, NormGelu d, bool add_x) {
  norm_gelu_sums(v, d);
  for (Index f = 0; f < v.x.rows; ++f) {
    const float bias = v.bias.data[f], gain = v.gain.data[f];
    Tile dbias = 0, dgain = 0, dshift = 0;
    for (Index t = 0; t < v.x.cols; t += Tile::size) {
      const Tile n = normalised(v, bias, f, t), dz = Tile(d.y.row(f) + t) * Tile(v.slope.row(f) + t);
      const Tile mean(v.statistics.row(2) + t), slant(v.statistics.row(3) + t);
      const Tile dx = dz * (gain * Tile(v.statistics.row(1) + t)) - mean - n * slant;
      put(d.x.row(f) + t, dx, add_x);
      dbias += dx;
      dgain += dz * n;
      dshift += dz;
    }
    d.bias.data[f] += sum(dbias);
    d.gain.data[f] += sum(dgain);
    d.shift.data[f] += sum(dshift);
  }
}

void residual(Residual v) {
  for (Index f = 0; f < v.x.rows; ++f)
    for (Index t = 0; t < v.x.cols; t += Tile::size)
      (Tile(v.x.row(f) + t) + Tile(v.u.row(f) + t) + v.bias.data[f]).store(v.y.row(f) + t);
}

void residual_backward(Residual d, bool add_x, bool add_u) {
  for (Index f = 0; f < d.x.rows; ++f) {
    Tile bias = 0;
    for (Index t = 0; t < d.x.cols; t += Tile::size) {
      const Tile dy(d.y.row(f) + t);
      put(d.u.row(f) + t, dy, add_u);  // the last input first: x and u may be one slot
      put(d.x.row(f) + t, dy, add_x);
      bias += dy;
    }
    d.bias.data[f] += sum(bias);
  }
}

}  // namespace

const Rows rows{norm_gelu, norm_gelu_backward, residual, residual_backward};

}  // namespace headlab::kernels::HEADLAB_ISA
