// c: feature, i: query, j: key, w: one of a block's vectors.
#include <algorithm>
#include <limits>

#include "core/kernels/lanes/fold.hpp"
#include "core/kernels/softmax.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

/// `vecs` vectors of `dh` features from column t on, of which the last may be broken.
template <int dh, int vecs>
struct Block {
  Vec at[dh][vecs]{};

  Block() = default;
  Block(Matrix x, Index t, float scale) {
    for (int c = 0; c < dh; ++c)
      for (int w = 0; w < vecs; ++w)
        at[c][w] = scale * load_first(x.row(c) + t + w * lanes, x.cols - t - w * lanes);
  }
  void put(Matrix y, Index t, float scale, bool add) const {
    for (int c = 0; c < dh; ++c)
      for (int w = 0; w < vecs; ++w) {
        float* to = y.row(c) + t + w * lanes;
        const Index count = y.cols - t - w * lanes;
        store_first(add ? load_first(to, count) + scale * at[c][w] : scale * at[c][w], to, count);
      }
  }
  /// Feature by feature times column t of x.
  Vec dot(Matrix x, Index t, int w) const {
    Vec sum = 0;
    for (int c = 0; c < dh; ++c) sum += x(c, t) * at[c][w];
    return sum;
  }
};

/// Logits twice, which is less than to keep them: for their maximum, then for exponentials. Queries in lanes.
template <int dh, int vecs, bool kept>
void forward_block(const SoftmaxHead& x, Matrix y, Index t) {
  const Block<dh, vecs> q(x.query, t, x.scale);
  Block<dh, vecs> sums;
  Block<1, vecs> top, total;
  for (Vec& m : top.at[0]) m = std::numeric_limits<float>::lowest();
  for (Index j = 0; j < x.key.cols; ++j)
    for (int w = 0; w < vecs; ++w) top.at[0][w] = stdx::max(top.at[0][w], q.dot(x.key, j, w));
  for (Index j = 0; j < x.key.cols; ++j)
    for (int w = 0; w < vecs; ++w) {
      const Vec e = exp(q.dot(x.key, j, w) - top.at[0][w]);
      if (kept) e.copy_to(x.exponentials.row(j) + t + w * lanes, stdx::vector_aligned);
      total.at[0][w] += e;
      for (int c = 0; c < dh; ++c) sums.at[c][w] += x.value(c, j) * e;
    }
  for (int w = 0; w < vecs; ++w) {
    total.at[0][w] = 1.F / total.at[0][w];
    for (int c = 0; c < dh; ++c) sums.at[c][w] *= total.at[0][w];
  }
  sums.put(y, t, 1, false);
  top.put(x.statistics, t, 1, false);
  total.put(rows(x.statistics, 1, 1), t, 1, false);
}

/// What sums by lanes go on from: nothing where they begin.
template <bool begins>
Vec begun(const float* sum) {
  return begins ? Vec(0) : Vec(sum, stdx::vector_aligned);
}

/// Keys in lanes: of the three gradients two stay in registers, and that of the queries alone is a sum over
/// lanes, kept by lanes in `sums`, `dh` vectors a query, until all keys are done.
template <int dh, int vecs, bool whole, bool begins>
void backward_block(const SoftmaxHead& x, const SoftmaxSlopes& s, const SoftmaxHead& dx, Index t, bool add,
                    float* sums) {
  const Block<dh, vecs> k(x.key, t, x.scale), v(x.value, t, 1);
  Block<dh, vecs> dk, dv;
  const auto missing = !first(x.key.cols - t - (vecs - 1) * lanes);
  for (Index i = 0; i < x.query.cols; ++i) {
    Vec dl[vecs];
    for (int w = 0; w < vecs; ++w) {
      Vec l = k.dot(x.query, i, w) - x.statistics(0, i);
      if (!whole && w == vecs - 1) stdx::where(missing, l) = std::numeric_limits<float>::lowest();
      const Vec e = exp(l);
      dl[w] = e * (v.dot(s.dy, i, w) - s.mean(0, i));
      for (int c = 0; c < dh; ++c) {
        dk.at[c][w] += x.query(c, i) * dl[w];
        dv.at[c][w] += s.dy(c, i) * e;
      }
    }
    for (int c = 0; c < dh; ++c) {
      float* sum = sums + (i * dh + c) * lanes;
      Vec all = begun<begins>(sum);
      for (int w = 0; w < vecs; ++w) all += k.at[c][w] * dl[w];
      all.copy_to(sum, stdx::vector_aligned);
    }
  }
  dk.put(dx.key, t, x.scale, add);
  dv.put(dx.value, t, 1, add);
}

/// The gradient of what a key's numbers were multiplied by: sums over lanes of rows of `dh` vectors, a row a
/// key or query. With 16 lanes as many rows at once, which with 8 takes longer.
template <int dh>
void put_sums(const float* sums, Index distance, Matrix y, float scale, bool add) {
  constexpr int together = lanes == 16 ? lanes : 1;
  for (int c = 0; c < dh; ++c) {
    Index t = 0;
    const auto at = [&](Index k) { return Vec(sums + (t + k) * distance + c * lanes, stdx::vector_aligned); };
    for (; together > 1 && t + together <= y.cols; t += together) {
      Vec all[lanes];
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k) all[k] = at(k);
      fold_all<lanes / 2, lanes>(all);
      float* to = y.row(c) + t;
      store(add ? load(to) + scale * all[0] : scale * all[0], to);
    }
    for (; t < y.cols; ++t) y(c, t) = scale * stdx::reduce(at(0)) + (add ? y(c, t) : 0.F);
  }
}

/// Where exponentials are kept, queries are in lanes as they are. sums: of a key those by lanes of its
/// gradient, then of its value's.
template <int dh, int vecs, bool begins>
void kept_block(const SoftmaxHead& x, const SoftmaxSlopes& s, const SoftmaxHead& dx, Index t, bool add,
                float* sums) {
  const Block<dh, vecs> q(x.query, t, 1), dy(s.dy, t, 1);
  const Block<1, vecs> mean(s.mean, t, 1);
  Block<dh, vecs> dq;
  for (Index j = 0; j < x.key.cols; ++j) {
    Vec e[vecs], dl[vecs];
    for (int w = 0; w < vecs; ++w) {
      e[w] = Vec(x.exponentials.row(j) + t + w * lanes, stdx::vector_aligned);
      dl[w] = e[w] * (dy.dot(x.value, j, w) - mean.at[0][w]);
      for (int c = 0; c < dh; ++c) dq.at[c][w] += x.key(c, j) * dl[w];
    }
    for (int c = 0; c < dh; ++c) {
      float* of_key = sums + (j * 2 * dh + c) * lanes;
      float* of_value = of_key + dh * lanes;
      Vec dk = begun<begins>(of_key), dv = begun<begins>(of_value);
      for (int w = 0; w < vecs; ++w) {
        dk += q.at[c][w] * dl[w];
        dv += dy.at[c][w] * e[w];
      }
      dk.copy_to(of_key, stdx::vector_aligned);
      dv.copy_to(of_value, stdx::vector_aligned);
    }
  }
  dq.put(dx.query, t, x.scale, add);
}

template <int dh>
void forward_head(const SoftmaxHead& x, Matrix y) {
  if (x.exponentials.data != nullptr) {
    for (Index t = 0; t < y.cols; t += 2 * lanes) forward_block<dh, 2, true>(x, y, t);
    return;
  }
  Index t = 0;
  for (; t + lanes < y.cols; t += 2 * lanes) forward_block<dh, 2, false>(x, y, t);
  if (t < y.cols) forward_block<dh, 1, false>(x, y, t);
}

template <int dh>
void backward_head(const SoftmaxHead& x, const SoftmaxSlopes& s, const SoftmaxHead& dx, bool add,
                   float* sums) {
  constexpr int vecs = 2;
  const Index n = x.query.cols;
  if (x.exponentials.data != nullptr) {
    kept_block<dh, vecs, true>(x, s, dx, 0, add, sums);
    for (Index t = vecs * lanes; t < n; t += vecs * lanes)
      kept_block<dh, vecs, false>(x, s, dx, t, add, sums);
    put_sums<dh>(sums, 2 * dh * lanes, dx.key, x.scale, add);
    put_sums<dh>(sums + dh * lanes, 2 * dh * lanes, dx.value, 1, add);
    return;
  }
  Index t = vecs * lanes;
  if (t <= n) {
    backward_block<dh, vecs, true, true>(x, s, dx, 0, add, sums);
  } else {
    t = lanes;
    backward_block<dh, 1, false, true>(x, s, dx, 0, add, sums);
  }
  for (; t + vecs * lanes <= n; t += vecs * lanes)
    backward_block<dh, vecs, true, false>(x, s, dx, t, add, sums);
  for (; t < n; t += lanes) backward_block<dh, 1, false, false>(x, s, dx, t, add, sums);
  put_sums<dh>(sums, dh * lanes, dx.query, 1, add);
}

void forward(SoftmaxHead x, Matrix y) {
  static_assert(NarrowSoftmax::widest == 4);
  switch (y.rows) {
    case 1:
      return forward_head<1>(x, y);
    case 2:
      return forward_head<2>(x, y);
    case 3:
      return forward_head<3>(x, y);
    default:
      return forward_head<4>(x, y);
  }
}

void backward(SoftmaxHead x, SoftmaxSlopes s, SoftmaxHead dx, bool add, float* scratch) {
  switch (x.query.rows) {
    case 1:
      return backward_head<1>(x, s, dx, add, scratch);
    case 2:
      return backward_head<2>(x, s, dx, add, scratch);
    case 3:
      return backward_head<3>(x, s, dx, add, scratch);
    default:
      return backward_head<4>(x, s, dx, add, scratch);
  }
}

}  // namespace

const NarrowSoftmax narrow_softmax{forward, backward};

}  // namespace headlab::kernels::HEADLAB_ISA
