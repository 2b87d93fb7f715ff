// i: feature of x, o: feature of y, t: token.
#include "core/kernels/products.hpp"

#include <algorithm>
#include <array>

#include "core/kernels/lanes/fold.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

/// A weight's entry for input i and output o lies at data + i * in + o * out.
struct Weights {
  const float* data;
  Index in, out;
};

/// `outs` outputs of `vecs` vectors of tokens, kept in registers over all inputs. (Loops that GCC unrolls
/// late leave the sums in memory.)
template <int outs, int vecs>
void map_block(Weights w, Matrix x, Matrix y, Index t, float scale, bool add) {
  Vec sums[outs][vecs]{};
  for (Index i = 0; i < x.rows; ++i) {
    Vec in[vecs];
    for (int v = 0; v < vecs; ++v) in[v] = load(x.row(i) + t + v * lanes);
#pragma GCC unroll 12
    for (int o = 0; o < outs; ++o)
#pragma GCC unroll 2
      for (int v = 0; v < vecs; ++v) sums[o][v] += w.data[i * w.in + o * w.out] * in[v];
  }
#pragma GCC unroll 12
  for (int o = 0; o < outs; ++o)
#pragma GCC unroll 2
    for (int v = 0; v < vecs; ++v) {
      float* to = y.row(o) + t + v * lanes;
      store(add ? load(to) + scale * sums[o][v] : scale * sums[o][v], to);
    }
}

/// The same of the fewer tokens than lanes that are left.
template <int outs>
void map_rest(Weights w, Matrix x, Matrix y, Index t, float scale, bool add) {
  const Index count = x.cols - t;
  Vec sums[outs]{};
  for (Index i = 0; i < x.rows; ++i) {
    const Vec in = load_first(x.row(i) + t, count);
#pragma GCC unroll 12
    for (int o = 0; o < outs; ++o) sums[o] += w.data[i * w.in + o * w.out] * in;
  }
#pragma GCC unroll 12
  for (int o = 0; o < outs; ++o) {
    float* to = y.row(o) + t;
    store_first(add ? load_first(to, count) + scale * sums[o] : scale * sums[o], to, count);
  }
}

template <int outs>
void map_rows(Weights w, Matrix x, Matrix y, float scale, bool add) {
  Index t = 0;
  for (; t + 2 * lanes <= x.cols; t += 2 * lanes) map_block<outs, 2>(w, x, y, t, scale, add);
  for (; t + lanes <= x.cols; t += lanes) map_block<outs, 1>(w, x, y, t, scale, add);
  if (t < x.cols) map_rest<outs>(w, x, y, t, scale, add);
}

void map(Matrix weights, bool transposed, Matrix x, Matrix y, float scale, bool add) {
  Weights w = transposed ? Weights{weights.data, 1, weights.pitch} : Weights{weights.data, weights.pitch, 1};
  const auto next = [&]<int outs>(std::integral_constant<int, outs>) {
    map_rows<outs>(w, x, y, scale, add);
    w.data += outs * w.out;
    y = rows(y, outs, y.rows - outs);
  };
  constexpr int most = lanes == 16 ? 12 : 6;  // times two sums, in 32 or 16 registers
  while (y.rows >= most) next(std::integral_constant<int, most>{});
  if (y.rows >= 8) next(std::integral_constant<int, 8>{});
  if (y.rows >= 4) next(std::integral_constant<int, 4>{});
  if (y.rows >= 2) next(std::integral_constant<int, 2>{});
  if (y.rows >= 1) next(std::integral_constant<int, 1>{});
}

/// The sums of `count` vectors.
template <int count>
[[gnu::always_inline]] inline std::array<float, count + lanes> totals(Vec* sums) {
  constexpr int whole = count / lanes * lanes, rest = count - whole;
  std::array<float, count + lanes> all;
  for (int k = 0; k < whole; k += lanes) {
    fold_all<lanes / 2, lanes>(sums + k);
    store(sums[k], all.data() + k);
  }
  if constexpr (rest > 0) {
    fold_all<lanes / 2, rest>(sums + whole);
    store(sums[whole], all.data() + whole);
  }
  return all;
}

/// Sums over tokens for `ins` times `outs` pairs, kept in registers.
template <int ins, int outs>
void outer_block(Matrix x, Matrix y, Matrix g, float scale, bool add) {
  Vec sums[ins * outs]{};
  const auto step = [&](const auto& at) {
    Vec out[outs];
#pragma GCC unroll 4
    for (int o = 0; o < outs; ++o) out[o] = at(y.row(o));
#pragma GCC unroll 4
    for (int i = 0; i < ins; ++i) {
      const Vec in = at(x.row(i));
#pragma GCC unroll 4
      for (int o = 0; o < outs; ++o) sums[i * outs + o] += in * out[o];
    }
  };
  Index t = 0;
  for (; t + lanes <= x.cols; t += lanes) step([t](const float* row) { return load(row + t); });
  if (t < x.cols) step([t, n = x.cols - t](const float* row) { return load_first(row + t, n); });
  const auto sum = totals<ins * outs>(sums);
  for (int i = 0; i < ins; ++i)
    for (int o = 0; o < outs; ++o) g(i, o) = scale * sum.data()[i * outs + o] + (add ? g(i, o) : 0.F);
}

template <int ins>
void outer_rows(Matrix x, Matrix y, Matrix g, float scale, bool add) {
  Index o = 0;
  const auto part = [&](Index count) { return columns(g, o, count); };
  for (; o + 4 <= y.rows; o += 4) outer_block<ins, 4>(x, rows(y, o, 4), part(4), scale, add);
  for (; o + 2 <= y.rows; o += 2) outer_block<ins, 2>(x, rows(y, o, 2), part(2), scale, add);
  for (; o < y.rows; ++o) outer_block<ins, 1>(x, rows(y, o, 1), part(1), scale, add);
}

void outer(Matrix x, Matrix y, Matrix g, float scale, bool add) {
  const auto next = [&]<int ins>(std::integral_constant<int, ins>) {
    outer_rows<ins>(rows(x, 0, ins), y, rows(g, 0, ins), scale, add);
    x = rows(x, ins, x.rows - ins);
    g = rows(g, ins, g.rows - ins);
  };
  constexpr int most = lanes == 16 ? 4 : 3;  // times four sums, in 32 or 16 registers
  while (x.rows >= most) next(std::integral_constant<int, most>{});
  if (x.rows >= 2) next(std::integral_constant<int, 2>{});
  if (x.rows >= 1) next(std::integral_constant<int, 1>{});
}

}  // namespace

const Products products{map, outer};

}  // namespace headlab::kernels::HEADLAB_ISA
