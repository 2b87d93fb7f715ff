// f: feature, t: token. The inner loop is over features where a sum a token is wanted, else over tokens.
#include "core/kernels/norm.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

constexpr NormForm plain = NormForm::plain, gelu = NormForm::gelu, after = NormForm::residual_after,
                   before = NormForm::residual_before;

template <NormForm form>
Tile summed(Norm v, float bias, Index f, Index t) {
  const Tile s = Tile(v.u.row(f) + t) + bias;
  return form == before ? Tile(v.x.row(f) + t) + s : s;
}

template <NormForm form>
void statistics(Norm v) {
  const float share = 1.F / static_cast<float>(v.u.rows);
  for (Index t = 0; t < v.u.cols; t += Tile::size) {
    Tile mean = 0, var = 0;
    for (Index f = 0; f < v.u.rows; ++f) mean += summed<form>(v, entry(v.bias, f), f, t);
    mean = mean * share;
    for (Index f = 0; f < v.u.rows; ++f) {
      const Tile centred = summed<form>(v, entry(v.bias, f), f, t) - mean;
      var += centred * centred;
    }
    mean.store(v.statistics.row(0) + t);
    (1.F / sqrt(var * share + v.epsilon)).store(v.statistics.row(1) + t);
  }
}

template <NormForm form>
Tile normalised(Norm v, float bias, Index f, Index t) {
  return (summed<form>(v, bias, f, t) - Tile(v.statistics.row(0) + t)) * Tile(v.statistics.row(1) + t);
}

template <NormForm form>
void norm(Norm v) {
  statistics<form>(v);
  for (Index f = 0; f < v.u.rows; ++f) {
    const float bias = entry(v.bias, f), gain = v.gain.data[f], shift = v.shift.data[f];
    for (Index t = 0; t < v.u.cols; t += Tile::size) {
      const Tile z = normalised<form>(v, bias, f, t) * gain + shift;
      if constexpr (form == gelu) {
        put_gelu(z, v.y.row(f) + t, v.slope.row(f) + t);
      } else {
        (form == after ? Tile(v.x.row(f) + t) + z : z).store(v.y.row(f) + t);
      }
    }
  }
}

template <NormForm form>
Tile before_gelu(Norm v, Norm d, Index f, Index t) {
  const Tile dy(d.y.row(f) + t);
  return form == gelu ? dy * Tile(v.slope.row(f) + t) : dy;
}

/// With n the normalised input and e = gain dz: the means over the features of e and of e n, by deviation.
template <NormForm form>
void sums(Norm v, Norm d) {
  const float share = 1.F / static_cast<float>(v.u.rows);
  for (Index t = 0; t < v.u.cols; t += Tile::size) {
    Tile mean = 0, slant = 0;
    for (Index f = 0; f < v.u.rows; ++f) {
      const Tile e = before_gelu<form>(v, d, f, t) * v.gain.data[f];
      mean += e;
      slant += e * normalised<form>(v, entry(v.bias, f), f, t);
    }
    const Tile scale = Tile(v.statistics.row(1) + t) * share;
    (mean * scale).store(v.statistics.row(2) + t);
    (slant * scale).store(v.statistics.row(3) + t);
  }
}

/// ds = (e - mean(e) - n mean(e n)) / deviation
template <NormForm form>
void norm_backward(Norm v, Norm d, bool add_x, bool add_u) {
  sums<form>(v, d);
  for (Index f = 0; f < v.u.rows; ++f) {
    const float bias = entry(v.bias, f), gain = v.gain.data[f];
    Tile dbias = 0, dgain = 0, dshift = 0;
    for (Index t = 0; t < v.u.cols; t += Tile::size) {
      const Tile n = normalised<form>(v, bias, f, t), dz = before_gelu<form>(v, d, f, t);
      const Tile mean(v.statistics.row(2) + t), slant(v.statistics.row(3) + t);
      const Tile ds = dz * (gain * Tile(v.statistics.row(1) + t)) - mean - n * slant;
      put(d.u.row(f) + t, ds, add_u);  // the last input first: x and u may be one slot
      if (form == after) put(d.x.row(f) + t, dz, add_x);
      if (form == before) put(d.x.row(f) + t, ds, add_x);
      dbias += ds;
      dgain += dz * n;
      dshift += dz;
    }
    if (d.bias.data != nullptr) d.bias.data[f] += sum(dbias);
    d.gain.data[f] += sum(dgain);
    d.shift.data[f] += sum(dshift);
  }
}

}  // namespace

const Norms norms{{norm<plain>, norm<gelu>, norm<after>, norm<before>},
                  {norm_backward<plain>, norm_backward<gelu>, norm_backward<after>, norm_backward<before>}};

}  // namespace headlab::kernels::HEADLAB_ISA
