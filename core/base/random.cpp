#include "core/base/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace headlab {

void Stream::refill() {
  using Philox = r123::Philox4x64;
  const Philox::ctr_type counter{{place_ / 4, item_, step_, 0}};
  const Philox::ctr_type words = Philox{}(counter, Philox::key_type{{key_[0], key_[1]}});
  words_ = {words[0], words[1], words[2], words[3]};
}

std::uint64_t Stream::below(std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t rejected = (0 - n) % n;  // so many products are one too many
  for (;;) {
    const Wide product = Wide{(*this)()} * n;
    if (static_cast<std::uint64_t>(product) >= rejected) return static_cast<std::uint64_t>(product >> 64);
  }
}

double Stream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace headlab
