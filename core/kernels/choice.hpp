#pragma once

namespace headlab::kernels {

/// What core/kernels/lanes is compiled for: x86-64-v3 has AVX2, x86-64-v4 AVX-512.
enum class Isa { v3, v4 };

/// The widest set that this processor runs; HEADLAB_ISA=v3 in the environment asks for the narrow one.
/// ConfigError without AVX2.
Isa isa();

}  // namespace headlab::kernels
