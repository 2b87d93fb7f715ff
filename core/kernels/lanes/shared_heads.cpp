// h: head, r: shared feature, t: token.
#include "core/kernels/shared_heads.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

/// y = scale x, rows of `count` tokens.
void scale(const float* x, float scale, float* y, Index count) {
  for (Index t = 0; t < count; t += Tile::size) (Tile(x + t) * scale).store(y + t);
}

void mix(MixedHeads v) {
  const Index shared = v.query.rows, tokens = v.query.cols;
  for (Index h = 0; h < v.mixing.rows; ++h) {
    const Index first = h * (shared + 1), last = first + shared;
    for (Index r = 0; r < shared; ++r) {
      scale(v.query.row(r), v.mixing(h, r), v.queries.row(first + r), tokens);
      scale(v.key.row(r), 1, v.keys.row(first + r), tokens);
    }
    for (Index t = 0; t < tokens; t += Tile::size) Tile(1).store(v.queries.row(last) + t);
    scale(v.content.row(h), 1, v.keys.row(last), tokens);
  }
}

/// Of shared feature r.
void mix_backward(const MixedHeads& v, const MixedHeads& d, Index r, bool add) {
  const Index heads = v.mixing.rows, width = v.query.rows + 1;
  for (Index t = 0; t < v.query.cols; t += Tile::size) {
    Tile query = 0, key = 0;
    for (Index h = 0; h < heads; ++h) {
      query += Tile(d.queries.row(h * width + r) + t) * v.mixing(h, r);
      key += Tile(d.keys.row(h * width + r) + t);
    }
    put(d.query.row(r) + t, query, add);
    put(d.key.row(r) + t, key, add);
  }
  for (Index h = 0; h < heads; ++h) {
    Tile mixing = 0;
    for (Index t = 0; t < v.query.cols; t += Tile::size)
      mixing += Tile(d.queries.row(h * width + r) + t) * Tile(v.query.row(r) + t);
    d.mixing(h, r) += sum(mixing);
  }
}

void mix_backward(MixedHeads v, MixedHeads d, bool add) {
  for (Index r = 0; r < v.query.rows; ++r) mix_backward(v, d, r, add);
  for (Index h = 0; h < v.mixing.rows; ++h) {
    const float* content = d.keys.row(h * (v.query.rows + 1) + v.query.rows);
    for (Index t = 0; t < v.query.cols; t += Tile::size) put(d.content.row(h) + t, Tile(content + t), add);
  }
}

void sum_heads(Matrix x, Matrix y, bool add) {
  for (Index r = 0; r < y.rows; ++r)
    for (Index t = 0; t < y.cols; t += Tile::size) {
      Tile total = 0;
      for (Index row = r; row < x.rows; row += y.rows) total += Tile(x.row(row) + t);
      put(y.row(r) + t, total, add);
    }
}

}  // namespace

const SharedHeads shared_heads{mix, mix_backward, sum_heads};

}  // namespace headlab::kernels::HEADLAB_ISA
