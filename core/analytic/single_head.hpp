#pragma once
#include "core/attention/aggregation.hpp"
#include "core/model/plan.hpp"

namespace headlab {

/// One head of an attention, or one pool, by itself: the layer that models use, on inputs of one's own. nap's
/// gain is 1, its bias 0. Inputs start as NaN.
class SingleHead {
 public:
  /// `dim`: d, features of a value and of an output; `query_key_dim`: D_k, of a query and of a key.
  SingleHead(Architecture architecture, Chunk chunk, Index query_key_dim, Index dim);

  bool pools() const { return pools_; }
  /// (D_k, tokens), unless it pools.
  Matrix query() { return part(0, query_key_dim_); }
  Matrix key() { return part(query_key_dim_, query_key_dim_); }
  /// (d, tokens); where it pools, embeddings.
  Matrix value() { return part(pools_ ? 0 : 2 * query_key_dim_, dim_); }
  /// The outputs, (d, tokens).
  Matrix forward();

 private:
  Matrix part(Index first, Index count) {
    return rows(plan_.context().value(plan_.ends().inputs.front()), first, count);
  }
  bool pools_;
  Index query_key_dim_, dim_;
  Parameters parameters_;
  Plan plan_;
};

}  // namespace headlab
