// j: key, t: query.
#include "core/kernels/attention.hpp"

#include <limits>

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

/// Its maximum is taken off before: no exponential overflows.
void softmax(Matrix l) {
  constexpr float log2e = 1.44269504F;
  for (Index t = 0; t < l.cols; t += Tile::size) {
    Tile top(l.row(0) + t), total = 0;
    for (Index j = 1; j < l.rows; ++j) top = max(top, Tile(l.row(j) + t));
    for (Index j = 0; j < l.rows; ++j) {
      const Tile x = (Tile(l.row(j) + t) - top) * log2e, e(exp2(x.a), exp2(x.b));
      e.store(l.row(j) + t);
      total += e;
    }
    const Tile share = 1.F / total;
    for (Index j = 0; j < l.rows; ++j) (Tile(l.row(j) + t) * share).store(l.row(j) + t);
  }
}

void softmax_backward(Matrix a, Matrix da) {
  for (Index t = 0; t < a.cols; t += Tile::size) {
    Tile mean = 0;
    for (Index j = 0; j < a.rows; ++j) mean += Tile(a.row(j) + t) * Tile(da.row(j) + t);
    for (Index j = 0; j < a.rows; ++j)
      (Tile(a.row(j) + t) * (Tile(da.row(j) + t) - mean)).store(da.row(j) + t);
  }
}

/// The variance in a second pass: logits can be far smaller than their mean.
void standardise(Standardise v, float epsilon) {
  const float share = 1.F / static_cast<float>(v.z.rows);
  for (Index t = 0; t < v.z.cols; t += Tile::size) {
    Tile mean = 0, var = 0;
    for (Index j = 0; j < v.z.rows; ++j) mean += Tile(v.z.row(j) + t);
    mean = mean * share;
    for (Index j = 0; j < v.z.rows; ++j) {
      const Tile centred = Tile(v.z.row(j) + t) - mean;
      var += centred * centred;
    }
    const Tile deviation = sqrt(var * share), scale = 1.F / (deviation + epsilon);
    for (Index j = 0; j < v.z.rows; ++j) ((Tile(v.z.row(j) + t) - mean) * scale).store(v.z.row(j) + t);
    scale.store(v.statistics.row(0) + t);
    (1.F / max(deviation, std::numeric_limits<float>::min())).store(v.statistics.row(1) + t);
  }
}

/// dl = gain ((da - mean(da)) / (std + epsilon) - z mean(da z) / std)
void standardise_backward(Standardise v, Matrix da, float gain, float& dgain, float& dbias) {
  const float share = 1.F / static_cast<float>(v.z.rows);
  Tile slants = 0, totals = 0;
  for (Index t = 0; t < v.z.cols; t += Tile::size) {
    Tile slant = 0, total = 0;
    for (Index j = 0; j < v.z.rows; ++j) {
      total += Tile(da.row(j) + t);
      slant += Tile(da.row(j) + t) * Tile(v.z.row(j) + t);
    }
    slants += slant;
    totals += total;
    const Tile mean = total * share, scale = Tile(v.statistics.row(0) + t) * gain;
    const Tile tilt = slant * Tile(v.statistics.row(1) + t) * (share * gain);
    for (Index j = 0; j < v.z.rows; ++j)
      ((Tile(da.row(j) + t) - mean) * scale - Tile(v.z.row(j) + t) * tilt).store(da.row(j) + t);
  }
  dgain += sum(slants);
  dbias += sum(totals);
}

}  // namespace

const Attention attention{softmax, softmax_backward, standardise, standardise_backward};

}  // namespace headlab::kernels::HEADLAB_ISA
