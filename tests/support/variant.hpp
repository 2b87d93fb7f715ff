#pragma once
#include "core/attention/aggregation.hpp"
#include "core/config/key.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {

inline std::string word(Architecture variant) { return std::get<std::string>(value(variant)); }

inline Config small_config(Index heads, Index query_key_dim, Index dim, double dropout = 0) {
  Config config;
  config.model.heads = heads;
  config.model.query_key_dim = query_key_dim;
  config.model.dim = dim;
  config.model.dropout = dropout;
  config.model.attention_epsilon = 1e-3;
  return config;
}

/// Some rows of a slot as an input of their own.
inline Slot part(Slot whole, const char* name, Index first, Index rows) {
  for (Region* r : {static_cast<Region*>(&whole), &whole.gradient}) {
    r->name = name;
    r->rows = rows;
    r->offset += first * r->pitch;
  }
  return whole;
}

/// A variant by itself, from queries, keys and values or, where it pools, embeddings.
inline Build alone(const Aggregation& variant, const Config& config) {
  return [=](Planner& p, Layers& layers) -> Ends {
    const Index d = config.model.dim, d_k = config.model.query_key_dim;
    const Slot in = p.slot("x", variant.pools ? d : 2 * d_k + d);
    Ends ends{{in}, variant.aggregate(p, layers, "layer.0", in, config)};
    if (!variant.pools)
      ends.inputs = {part(in, "query", 0, d_k), part(in, "key", d_k, d_k), part(in, "value", 2 * d_k, d)};
    return ends;
  };
}

/// A plan of one variant, its inputs at hand.
struct Alone {
  Parameters parameters;
  Config config;
  Plan plan;
  std::vector<Slot> inputs = plan.ends().inputs;

  Alone(Architecture name, Chunk chunk, Index heads, Index query_key_dim, Index dim, double dropout = 0)
      : config(small_config(heads, query_key_dim, dim, dropout)),
        plan(parameters, chunk, alone(aggregation(name), config)) {}
  Matrix input(std::size_t k) { return plan.context().value(inputs[k]); }
  Matrix gradient(std::size_t k) { return plan.context().grad(inputs[k]); }
  Matrix output() { return plan.context().value(plan.ends().output); }
  Matrix output_gradient() { return plan.context().grad(plan.ends().output); }
  Matrix parameter(const std::string& name) { return at(parameters.value, *parameters.find(name)); }
  void fill_inputs(std::mt19937& rng) {
    for (std::size_t k = 0; k < inputs.size(); ++k) fill(input(k), rng);
  }
  void set_nap(float gain, float bias) {
    set(parameter("layer.0.nap.gain"), gain);
    set(parameter("layer.0.nap.bias"), bias);
  }

 private:
  static void set(const Matrix& m, float x) {
    for (Index r = 0; r < m.rows; ++r) std::fill_n(m.row(r), m.cols, x);
  }
};

}  // namespace headlab::test
