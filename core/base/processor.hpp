#pragma once
#include <string>
#include <string_view>

namespace headlab {

/// The levels of x86-64 that kernels are compiled for: v3 has AVX2 and FMA, v4 AVX-512.
enum class InstructionSet { v3, v4 };
std::string_view to_string(InstructionSet isa);  ///< x86-64-v3

/// The processor's best one; the environment's HEADLAB_ISA=v3 or v4 asks for that one.
/// ConfigError if the processor has not even v3, or not what is asked for.
InstructionSet instruction_set();

/// The processor's name as Linux gives it; "" if it gives none.
std::string processor_name();

}  // namespace headlab
