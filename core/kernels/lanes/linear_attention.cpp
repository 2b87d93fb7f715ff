// f: feature, t: token.
#include "core/kernels/linear_attention.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

Tile dot_at(Matrix x, Matrix y, Index t) {
  Tile sum = 0;
  for (Index f = 0; f < x.rows; ++f) sum += Tile(x.row(f) + t) * Tile(y.row(f) + t);
  return sum;
}
/// 1 / x, or 0 for what is no normal number.
Vec inverse(const Vec& x) {
  Vec y = 0;
  stdx::where(x >= 1.17549435e-38F, y) = 1.F / x;
  return y;
}

void statistics(Centred v, float epsilon) {
  for (Index t = 0; t < v.query.cols; t += Tile::size) {
    const Tile deviation = sqrt(max(dot_at(v.query, v.mixed, t) * (1 / v.length), 0.F));
    (1.F / (deviation + epsilon)).store(v.statistics.row(0) + t);
    Tile(inverse(deviation.a), inverse(deviation.b)).store(v.statistics.row(1) + t);
  }
}

void rescale(Matrix x, const float* row, float scale, Matrix y) {
  for (Index t = 0; t < x.cols; t += Tile::size) {
    const Tile by = Tile(row + t) * scale;
    for (Index f = 0; f < x.rows; ++f) (Tile(x.row(f) + t) * by).store(y.row(f) + t);
  }
}

float backward(Centred v, Matrix x, Matrix dy, float gain, Matrix dq, Matrix wq, bool add) {
  Tile slant = 0;
  for (Index t = 0; t < x.cols; t += Tile::size) {
    const Tile r(v.statistics.row(0) + t), ru = r * dot_at(x, dy, t);
    slant += ru;
    const Tile w = ru * r * Tile(v.statistics.row(1) + t) * (-gain / v.length);
    for (Index f = 0; f < v.query.rows; ++f) {
      put(dq.row(f) + t, w * Tile(v.mixed.row(f) + t), add);
      (w * Tile(v.query.row(f) + t)).store(wq.row(f) + t);
    }
  }
  return sum(slant);
}

float dot(Matrix x, Matrix y) {
  Tile all = 0;
  for (Index t = 0; t < x.cols; t += Tile::size) all += dot_at(x, y, t);
  return sum(all);
}

}  // namespace

const LinearAttention linear_attention{statistics, rescale, backward, dot};

}  // namespace headlab::kernels::HEADLAB_ISA
