#include "core/base/processor.hpp"

#include <cstdlib>
#include <fstream>

#include "core/base/error.hpp"

namespace headlab {

std::string_view to_string(InstructionSet isa) {
  return isa == InstructionSet::v4 ? "x86-64-v4" : "x86-64-v3";
}

InstructionSet instruction_set() {
  require(__builtin_cpu_supports("x86-64-v3"),
          "this processor has no AVX2 and FMA (x86-64-v3), which headlab needs");
  const bool v4 = __builtin_cpu_supports("x86-64-v4");
  const char* given = std::getenv("HEADLAB_ISA");
  const std::string_view wish = given == nullptr ? "" : given;
  require(wish.empty() || wish == "v3" || wish == "v4", "HEADLAB_ISA: {} is not one of v3, v4", wish);
  require(wish != "v4" || v4, "HEADLAB_ISA: v4 wants AVX-512 (x86-64-v4), which this processor has not");
  return v4 && wish != "v3" ? InstructionSet::v4 : InstructionSet::v3;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (const auto colon = line.find(": "); line.starts_with("model name") && colon != line.npos)
      return line.substr(colon + 2);
  return "";
}

}  // namespace headlab
