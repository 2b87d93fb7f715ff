#include "core/kernels/multiply_adds.hpp"

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

constexpr int chains = 12;  // two pipelines of up to five cycles want ten; AVX2 has 16 registers

float run(Index times) {
  Vec x[chains]{};
  const Vec factor = .5F, summand = 1;  // goes to 2
  for (Index i = 0; i < times; ++i)
#pragma GCC unroll 12
    for (Vec& chain : x) chain = factor * chain + summand;
  Vec total = 0;
  for (const Vec& chain : x) total += chain;
  return stdx::reduce(total);
}

}  // namespace

const MultiplyAdds multiply_adds{2. * chains * int(Vec::size()), run};

}  // namespace headlab::kernels::HEADLAB_ISA
