#pragma once
#include <string>

#include "core/base/processor.hpp"

namespace headlab::dnn {

/// Sets what results depend on, whatever oneDNN's and OpenMP's environment variables say: instructions up to
/// AVX2 for v3 and all for v4, products of full precision, as many OpenMP threads as are asked for.
/// Once, before oneDNN is used.
void pin(InstructionSet isa);

/// What holds in the calling thread.
struct Settings {
  std::string version;       ///< of oneDNN: 3.7.1
  std::string instructions;  ///< that oneDNN uses: avx2, avx512_core_bf16
  std::string fpmath_mode;   ///< strict: products are not made of shorter floats
  int threads{};             ///< that a call of oneDNN may use
  bool flush_to_zero{};      ///< denormals count as zero
};
Settings settings();

}  // namespace headlab::dnn
