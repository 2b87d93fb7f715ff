#pragma once
#include "core/config/config.hpp"
#include "core/kernels/attention.hpp"
#include "core/layers/layer.hpp"

namespace headlab {

/// How a head's rows and a sequence's columns are cut out of matrices (features, tokens). qkv: (2 D_k + d,
/// tokens), the features of queries, keys, values one after another; in each, and in outputs (d, tokens),
/// heads are consecutive slices.
struct Heads {
  Chunk chunk;
  Index count, query_key, value;  ///< heads; features of a head's query or key, and of its value

  /// ConfigError, with the layer's name, if features do not fall into heads.
  Heads(const Planner& p, const std::string& name, const Slot& qkv, const Config::Model& m)
      : chunk(p.chunk()), count(m.heads), query_key(m.query_key_dim / m.heads), value(m.dim / m.heads) {
    require(m.query_key_dim % count == 0 && m.dim % count == 0,
            "{}: cannot cut {} features of queries and {} of values into {} heads", name, m.query_key_dim,
            m.dim, count);
    require(qkv.rows == 2 * m.query_key_dim + m.dim,
            "{}: {} features for queries and keys of {}, values of {}", name, qkv.rows, m.query_key_dim,
            m.dim);
  }

  struct Head {
    Matrix query, key, value;
  };
  Head head(const Matrix& qkv, Index h) const {
    return {rows(qkv, h * query_key, query_key), rows(qkv, (count + h) * query_key, query_key),
            rows(qkv, 2 * count * query_key + h * value, value)};
  }
  Matrix output(const Matrix& y, Index h) const { return rows(y, h * value, value); }
  Matrix sequence(const Matrix& m, Index s) const { return columns(m, s * chunk.length, chunk.length); }
  /// y = x - the mean of its sequence, feature by feature. Shifting all keys of a sequence shifts all logits
  /// of a query alike.
  void centre(const Matrix& x, const Matrix& y) const {
    for (Index f = 0; f < x.rows; ++f) std::copy_n(x.row(f), round_up(x.cols, 32), y.row(f));
    kernels::pooling().sum(x, y, chunk.length, -1 / static_cast<float>(chunk.length), true);
  }
  Head sequence(const Head& x, Index s) const {
    return {sequence(x.query, s), sequence(x.key, s), sequence(x.value, s)};
  }
};

}  // namespace headlab
