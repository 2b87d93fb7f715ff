#pragma once
// Sums over lanes of many vectors at once.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {

constexpr int lanes = Vec::size();

/// Neighbours of `half` lanes are added: of a and b, blocks of 2 half lanes, blocks of half are left, a's
/// first.
template <Index half, std::size_t... k>
Vec fold(const Vec& a, const Vec& b, std::index_sequence<k...> /*lanes*/) {
  using Lanes [[gnu::vector_size(sizeof(Vec))]] = float;
  constexpr auto place = [](Index lane) { return lane / half * 2 * half + lane % half; };
  const auto x = std::bit_cast<Lanes>(a), y = std::bit_cast<Lanes>(b);
  return std::bit_cast<Vec>(
      Lanes(__builtin_shufflevector(x, y, place(k)...) + __builtin_shufflevector(x, y, place(k) + half...)));
}
/// Puts the sums of `count` <= lanes vectors into the first lanes of the first. (In a call the sums would lie
/// in memory.)
template <Index half, int count>
[[gnu::always_inline]] inline void fold_all(Vec* sums) {
  constexpr int left = (count + 1) / 2;
#pragma GCC unroll 16
  for (int k = 0; k < left; ++k)
    sums[k] = fold<half>(sums[2 * k], sums[std::min(2 * k + 1, count - 1)],
                         std::make_index_sequence<static_cast<std::size_t>(lanes)>());
  if constexpr (half > 1) fold_all<half / 2, left>(sums);
}

}  // namespace headlab::kernels::HEADLAB_ISA
