#include "core/dnn/pins.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <xmmintrin.h>

#include <array>
#include <utility>

#include "core/base/error.hpp"
#include "core/dnn/compat.hpp"

namespace headlab::dnn {
namespace {

std::string instructions() {
  using enum onednn::cpu_isa;
  constexpr std::array names{std::pair(sse41, "sse41"),
                             std::pair(avx, "avx"),
                             std::pair(avx2, "avx2"),
                             std::pair(avx2_vnni, "avx2_vnni"),
                             std::pair(avx512_core, "avx512_core"),
                             std::pair(avx512_core_vnni, "avx512_core_vnni"),
                             std::pair(avx512_core_bf16, "avx512_core_bf16"),
                             std::pair(avx512_core_amx, "avx512_core_amx")};
  const auto isa = onednn::get_effective_cpu_isa();
  for (const auto& [value, name] : names)
    if (value == isa) return name;
  return fmt::format("0x{:x}", static_cast<unsigned>(isa));  // younger than this program
}

std::string fpmath_mode() {
  const auto mode = onednn::get_default_fpmath_mode();
  return mode == onednn::fpmath_mode::strict ? "strict" : fmt::format("{}", static_cast<int>(mode));
}

}  // namespace

void pin(InstructionSet isa) {
  const auto cap = isa == InstructionSet::v3 ? onednn::cpu_isa::avx2 : any_isa;
  require(onednn::set_max_cpu_isa(cap) == onednn::status::success,
          "[oneDNN] must be told its instruction set before it is used");
  onednn::set_default_fpmath_mode(onednn::fpmath_mode::strict);
  omp_set_dynamic(0);
  omp_set_max_active_levels(1);
}

Settings settings() {
  const auto* v = onednn::version();
  return {fmt::format("{}.{}.{}", v->major, v->minor, v->patch), instructions(), fpmath_mode(),
          omp_get_max_threads(), _MM_GET_FLUSH_ZERO_MODE() == _MM_FLUSH_ZERO_ON};
}

}  // namespace headlab::dnn
