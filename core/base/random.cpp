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

std::uint64_t name_hash(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

SkewedBits::SkewedBits(double p, Purpose purpose, std::string_view name)
    : p_(static_cast<std::uint64_t>(p * 0x1p64)), purpose_(purpose), name_(name_hash(name)) {}

std::array<std::uint64_t, 4> SkewedBits::operator()(std::uint64_t seed, std::uint64_t step,
                                                    std::uint64_t item, std::uint64_t group) const {
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  std::array<std::uint64_t, 4> equal{ones, ones, ones, ones}, greater{};  // the digits of U to those of p
  const auto undecided = [&] { return (equal[0] | equal[1] | equal[2] | equal[3]) != 0; };
  std::uint64_t block = 64 * group;
  for (std::uint64_t digits = p_; digits != 0 && undecided(); digits <<= 1) {
    const std::uint64_t digit = digits >> 63 ? ones : 0;
    const auto words = philox({block++, item, step, name_}, {seed, static_cast<std::uint64_t>(purpose_)});
    for (std::size_t w = 0; w < words.size(); ++w) {
      greater[w] |= equal[w] & words[w] & ~digit;
      equal[w] &= ~(words[w] ^ digit);
    }
  }
  for (std::size_t w = 0; w < greater.size(); ++w) greater[w] |= equal[w];  // p has no further digits
  return greater;
}

}  // namespace headlab
