// f: feature, t: token.
#include "core/kernels/rows.hpp"

#include <array>
#include <numeric>

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

void gelu(kernels::Gelu v) {
  for (Index f = 0; f < v.u.rows; ++f) {
    const float bias = entry(v.bias, f);
    for (Index t = 0; t < v.u.cols; t += Tile::size)
      put_gelu(Tile(v.u.row(f) + t) + bias, v.y.row(f) + t, v.slope.row(f) + t);
  }
}

void gelu_backward(kernels::Gelu v, kernels::Gelu d, bool add_u) {
  for (Index f = 0; f < v.u.rows; ++f) {
    Tile bias = 0;
    for (Index t = 0; t < v.u.cols; t += Tile::size) {
      const Tile du = Tile(d.y.row(f) + t) * Tile(v.slope.row(f) + t);
      put(d.u.row(f) + t, du, add_u);
      bias += du;
    }
    if (d.bias.data != nullptr) d.bias.data[f] += sum(bias);
  }
}

void broadcast(Matrix bias, Matrix y) {
  for (Index f = 0; f < y.rows; ++f)
    for (Index t = 0; t < y.cols; t += Tile::size) Tile(bias.data[f]).store(y.row(f) + t);
}

void add_row_sums(Matrix y, Matrix sums) {
  for (Index f = 0; f < y.rows; ++f) {
    std::array<double, 16> totals{};  // in as many chains; padding is zero up to a whole tile
    for (Index t = 0; t < y.cols; t += std::ssize(totals))
      for (std::size_t k = 0; k < totals.size(); ++k) totals[k] += double{y.row(f)[t + Index(k)]};
    sums.data[f] += static_cast<float>(std::accumulate(totals.begin(), totals.end(), 0.));
  }
}

void embedding(Embedding v) {
  for (Index t = 0; t < v.y.cols; ++t) {
    const float* token = v.token.row(v.tokens[v.first + t]);
    float* y = v.y.data + t;
    if (v.position.data == nullptr) {
      for (Index f = 0; f < v.y.rows; ++f) y[f * v.y.pitch] = token[f];
    } else {
      const float* position = v.position.row((v.first + t) % v.length);
      for (Index f = 0; f < v.y.rows; ++f) y[f * v.y.pitch] = token[f] + position[f];
    }
  }
}

void embedding_backward(Embedding d) {
  for (Index t = 0; t < d.y.cols; ++t) {
    const float* dy = d.y.data + t;
    float* token = d.token.row(d.tokens[d.first + t]);
    if (d.position.data == nullptr) {
      for (Index f = 0; f < d.y.rows; ++f) token[f] += dy[f * d.y.pitch];
    } else {
      float* position = d.position.row((d.first + t) % d.length);
      for (Index f = 0; f < d.y.rows; ++f) {
        token[f] += dy[f * d.y.pitch];
        position[f] += dy[f * d.y.pitch];
      }
    }
  }
}

}  // namespace

const Rows rows{gelu, gelu_backward, broadcast, add_row_sums, embedding, embedding_backward};

}  // namespace headlab::kernels::HEADLAB_ISA
