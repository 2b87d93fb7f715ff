#pragma once
#include "core/config/config.hpp"
#include "core/config/form.hpp"

namespace headlab {

/// Floating-point operations of the products of one forward pass over `sequences` of `length`, a multiply-add
/// counting as two: 2 in out a token for each weight, 2 N^2 (D_k + d) a sequence and layer for attention (in
/// its linear form N times what the aggregation says; D_k of as_attended()), the readout for the tokens that
/// answer. Forward and backward together are three times as many.
double forward_operations(const Config& config, const Form& form, double sequences, double length);

/// Of all layers together, 0 where they pool.
struct QueryKeyCosts {
  double parameters{};  ///< of queries, keys, mixing and content bias
  double key_cache{};   ///< floats that a token leaves for later queries to be compared with
  double scores{};      ///< multiply-adds of the scores of a query's token and a key's, were they computed
};
QueryKeyCosts query_key_costs(const Config& config);

}  // namespace headlab
