#include "core/base/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlab {
namespace {

__extension__ using Wide = unsigned __int128;

/// 2^64 mod n: so many of the 2^64 words are one too many for equal shares.
std::uint64_t excess(std::uint64_t n) { return (0 - n) % n; }

/// Splits word * n / 2^64 into its integer part, returned, and its fraction, which becomes the word.
std::uint64_t next_digit(std::uint64_t& word, std::uint64_t n) {
  const Wide product = Wide{word} * n;
  word = static_cast<std::uint64_t>(product);
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::array<std::uint64_t, 4> philox(const std::array<std::uint64_t, 4>& counter,
                                    const std::array<std::uint64_t, 2>& key) {
  using Philox = r123::Philox4x64;
  const Philox::ctr_type words =
      Philox{}({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
  return {words[0], words[1], words[2], words[3]};
}

std::uint64_t Stream::below(std::uint64_t n) {
  for (;;) {
    std::uint64_t word = (*this)();
    const std::uint64_t digit = next_digit(word, n);
    if (word >= n || word >= excess(n)) return digit;  // the excess, a slow division, is below n
  }
}

void Stream::fill_below(std::uint64_t n, std::span<std::int32_t> numbers) {
  std::size_t digits = 1;
  std::uint64_t product = n;  // n^digits
  for (; digits < 32 && product * n <= std::uint64_t{1} << 32; ++digits) product *= n;
  const std::uint64_t rejected = excess(product);
  while (!numbers.empty()) {
    const auto taken = numbers.first(std::min(digits, numbers.size()));
    std::uint64_t word = 0;
    do {
      word = (*this)();
      for (std::int32_t& number : taken) number = static_cast<std::int32_t>(next_digit(word, n));
      for (std::size_t unused = taken.size(); unused < digits; ++unused) word *= n;
    } while (word < rejected);
    numbers = numbers.subspan(taken.size());
  }
}

double Stream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Stream::truncated_normal() {
  for (;;)
    if (const double x = normal(); std::abs(x) <= 2) return x;
}

}  // namespace headlab
