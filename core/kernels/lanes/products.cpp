// i: feature of x, o: feature of y, t: token.
#include "core/kernels/products.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

constexpr Index lanes = Vec::size();

/// Vectors at any address, the last one of a row of fewer numbers than lanes.
Vec load(const float* p) { return {p, stdx::element_aligned}; }
void store(const Vec& x, float* p) { x.copy_to(p, stdx::element_aligned); }
Vec load(const float* p, Index count) {
  std::array<float, static_cast<std::size_t>(lanes)> all{};
  std::memcpy(all.data(), p, static_cast<std::size_t>(count) * sizeof(float));
  return load(all.data());
}
void store(const Vec& x, float* p, Index count) {
  std::array<float, static_cast<std::size_t>(lanes)> all;
  store(x, all.data());
  std::memcpy(p, all.data(), static_cast<std::size_t>(count) * sizeof(float));
}

/// A weight's entry for input i and output o lies at data + i * in + o * out.
struct Weights {
  const float* data;
  Index in, out;
};

/// `outs` outputs of `vecs` vectors of tokens, kept in registers over all inputs.
template <int outs, int vecs>
void map_block(Weights w, Matrix x, Matrix y, Index t, float scale, bool add) {
  Vec sums[outs][vecs]{};
  for (Index i = 0; i < x.rows; ++i) {
    Vec in[vecs];
    for (int v = 0; v < vecs; ++v) in[v] = load(x.row(i) + t + v * lanes);
    for (int o = 0; o < outs; ++o)
      for (int v = 0; v < vecs; ++v) sums[o][v] += w.data[i * w.in + o * w.out] * in[v];
  }
  for (int o = 0; o < outs; ++o)
    for (int v = 0; v < vecs; ++v) {
      float* to = y.row(o) + t + v * lanes;
      store(add ? load(to) + scale * sums[o][v] : scale * sums[o][v], to);
    }
}

void map_rest(Weights w, Matrix x, Matrix y, Index t, float scale, bool add) {
  const Index count = x.cols - t;
  for (Index o = 0; o < y.rows; ++o) {
    Vec sum = 0;
    for (Index i = 0; i < x.rows; ++i) sum += w.data[i * w.in + o * w.out] * load(x.row(i) + t, count);
    float* to = y.row(o) + t;
    store(add ? load(to, count) + scale * sum : scale * sum, to, count);
  }
}

template <int outs>
void map_rows(Weights w, Matrix x, Matrix y, float scale, bool add) {
  Index t = 0;
  for (; t + 2 * lanes <= x.cols; t += 2 * lanes) map_block<outs, 2>(w, x, y, t, scale, add);
  for (; t + lanes <= x.cols; t += lanes) map_block<outs, 1>(w, x, y, t, scale, add);
  if (t < x.cols) map_rest(w, x, rows(y, 0, outs), t, scale, add);
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

/// Sums over tokens for `ins` times `outs` pairs, kept in registers.
template <int ins, int outs>
void outer_block(Matrix x, Matrix y, Matrix g, float scale, bool add) {
  Vec sums[ins][outs]{};
  const auto step = [&](const auto& at) {
    Vec out[outs];
    for (int o = 0; o < outs; ++o) out[o] = at(y.row(o));
    for (int i = 0; i < ins; ++i) {
      const Vec in = at(x.row(i));
      for (int o = 0; o < outs; ++o) sums[i][o] += in * out[o];
    }
  };
  Index t = 0;
  for (; t + lanes <= x.cols; t += lanes) step([t](const float* row) { return load(row + t); });
  if (t < x.cols) step([t, n = x.cols - t](const float* row) { return load(row + t, n); });
  for (int i = 0; i < ins; ++i)
    for (int o = 0; o < outs; ++o) g(i, o) = scale * stdx::reduce(sums[i][o]) + (add ? g(i, o) : 0.F);
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
  Index i = 0;
  for (; i + 3 <= x.rows; i += 3) outer_rows<3>(rows(x, i, 3), y, rows(g, i, 3), scale, add);
  for (; i + 2 <= x.rows; i += 2) outer_rows<2>(rows(x, i, 2), y, rows(g, i, 2), scale, add);
  for (; i < x.rows; ++i) outer_rows<1>(rows(x, i, 1), y, rows(g, i, 1), scale, add);
}

}  // namespace

const Products products{map, outer};

}  // namespace headlab::kernels::HEADLAB_ISA
