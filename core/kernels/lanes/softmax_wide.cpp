// t: column.
#include <limits>

#include "core/kernels/lanes/lanes.hpp"
#include "core/kernels/softmax.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

constexpr Index lanes = Vec::size();

/// Two vectors of a row, the second of which may lie beyond the columns.
void weigh(Matrix l, float* m, float* r) {
  for (Index t = 0; t < l.cols; t += Tile::size) {
    Tile top = std::numeric_limits<float>::lowest(), total = 0;
    for (Index j = 0; j < l.rows; ++j) top = max(top, Tile(l.row(j) + t));
    for (Index j = 0; j < l.rows; ++j) {
      const Tile x = Tile(l.row(j) + t) - top, e(exp(x.a), exp(x.b));
      e.store(l.row(j) + t);
      total += e;
    }
    store_first(top.a, m + t, l.cols - t);
    store_first(top.b, m + t + lanes, l.cols - t - lanes);
    store_first(1.F / total.a, r + t, l.cols - t);
    store_first(1.F / total.b, r + t + lanes, l.cols - t - lanes);
  }
}

void weigh_again(Matrix l, const float* m) {
  for (Index i = 0; i < l.rows; ++i)
    for (Index t = 0; t < l.cols; t += lanes) {
      float* at = l.row(i) + t;
      exp(Vec(at, stdx::vector_aligned) - m[i]).copy_to(at, stdx::vector_aligned);
    }
}

void backward(Matrix e, Matrix da, const float* mean) {
  for (Index i = 0; i < da.rows; ++i)
    for (Index t = 0; t < da.cols; t += lanes) {
      float* at = da.row(i) + t;
      const Vec dl = Vec(e.row(i) + t, stdx::vector_aligned) * (Vec(at, stdx::vector_aligned) - mean[i]);
      dl.copy_to(at, stdx::vector_aligned);
    }
}

void backward_kept(Matrix e, Matrix da, const float* mean) {
  for (Index t = 0; t < da.cols; t += Tile::size)
    for (Index j = 0; j < da.rows; ++j) {
      float* at = da.row(j) + t;
      (Tile(e.row(j) + t) * (Tile(at) - Tile(mean + t))).store(at);
    }
}

void share(Matrix y, const float* r) {
  for (Index t = 0; t < y.cols; t += Tile::size)
    for (Index c = 0; c < y.rows; ++c) (Tile(y.row(c) + t) * Tile(r + t)).store(y.row(c) + t);
}

void slopes(Matrix y, Matrix dy, const float* r, SoftmaxSlopes s) {
  for (Index t = 0; t < y.cols; t += Tile::size) {
    Tile mean = 0;
    for (Index c = 0; c < y.rows; ++c) {
      const Tile slope = Tile(dy.row(c) + t) * Tile(r + t);
      mean += slope * Tile(y.row(c) + t);
      slope.store(s.dy.row(c) + t);
    }
    mean.store(s.mean.row(0) + t);
  }
}

}  // namespace

const WideSoftmax wide_softmax{weigh, weigh_again, backward, backward_kept, share, slopes};

}  // namespace headlab::kernels::HEADLAB_ISA
