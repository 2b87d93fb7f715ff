#pragma once
// All that another program needs to check some training steps. Axes: K steps, B batch, N length.
#include "core/log/sealed_file.hpp"

namespace headlab {

/// Row-major.
template <class T>
struct Array {
  std::vector<std::size_t> shape;
  std::vector<T> elements;

  bool operator==(const Array&) const = default;
};
/// By parameter; a weight is (in, out).
using Tensors = std::map<std::string, Array<float>>;

struct Trace {
  hdf5::Values config;      ///< by key, those not inert
  hdf5::Values provenance;  ///< version, host, start, ...
  Tensors initial, final;   ///< before the first and after the last step

  struct Steps {
    Array<std::int32_t> tokens;  ///< (K, B, N)
    Array<std::int32_t> labels;  ///< (K, B), with a label a token (K, B, N)
    std::vector<double> loss;    ///< mean cross-entropy of the batch, nat; this and the next two (K)
    std::vector<double> learning_rate;
    std::vector<double> gradient_norm;  ///< of all parameters together, before clipping
  } steps;

  struct First {
    Array<float> logits;  ///< (B, ...), of the first step
    Tensors gradients;    ///< of the first step's objective, before clipping
  } first;

  struct Evaluation {
    Array<std::int32_t> tokens;  ///< (sequences, N times the relative length)
    Array<std::int32_t> labels;
    Array<float> logits;  ///< with the final parameters
  };
  std::map<std::string, Evaluation> evaluation;  ///< by relative length: "1", "0.5"
};

/// /config with an attribute a key, /initial, /final, /steps, /first, /first/gradients and
/// /evaluation/LENGTH with a dataset a member. Atomically, and only if it reads back as the same;
/// std::logic_error for elements that do not fill their shape or tables of different numbers of steps.
void write_trace(const std::filesystem::path& to, const Trace& trace);
/// DamagedError, see read_sealed.
Trace read_trace(const std::filesystem::path& from);

}  // namespace headlab
