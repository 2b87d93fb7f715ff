#pragma once
// Counter-based random numbers: any word of any stream without the ones before it, so that results depend on
// no order of computing.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace headlab {

/// What random numbers are for; streams of different purposes are independent. Values are frozen.
enum class Purpose : std::uint64_t {
  training = 1,
  validation = 2,
  balanced = 3,
  test = 4,
  initialisation = 5,
  dropout = 6,
  analytic = 7,  ///< experiments without training
  task = 8,      ///< what a task draws once for a seed
};

/// Philox 4x64-10: four random words for a counter under a key. Salmon et al., "Parallel random numbers: as
/// easy as 1, 2, 3", SC'11.
std::array<std::uint64_t, 4> philox(const std::array<std::uint64_t, 4>& counter,
                                    const std::array<std::uint64_t, 2>& key);

/// Words 0, 1, 2, ... of a stream, each a pure function of (seed, purpose, step, item, place in the stream):
/// Philox with key (seed, purpose) and counter (place / 4, item, step, 0). A
/// std::uniform_random_bit_generator; the algorithms of <random> and <algorithm> differ between standard
/// libraries, the members below do not.
class Stream {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  Stream(std::uint64_t seed, Purpose purpose, std::uint64_t step, std::uint64_t item)
      : key_{seed, static_cast<std::uint64_t>(purpose)}, step_(step), item_(item) {}

  result_type operator()() {
    if (place_ % 4 == 0) words_ = philox({place_ / 4, item_, step_, 0}, key_);
    return words_[place_++ % 4];
  }
  /// Uniform on 0 .. n - 1, exactly (n >= 1): Lemire, arXiv 1805.10941, with 64-bit words.
  std::uint64_t below(std::uint64_t n);
  /// Independent and uniform on 0 .. n - 1, exactly (1 <= n <= 2^31), as many from one word as n^k <= 2^32
  /// allows: Brackett-Rozinsky and Lemire, arXiv 2408.06213.
  void fill_below(std::uint64_t n, std::span<std::int32_t> numbers);
  /// Uniform on [0, 1): a multiple of 2^-53.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Standard normal, by Box and Muller; every call takes two words.
  double normal();
  /// Standard normal, redrawn beyond +-2. Its standard deviation is 0.8796.
  double truncated_normal();

 private:
  std::array<std::uint64_t, 2> key_;
  std::uint64_t step_, item_, place_ = 0;
  std::array<std::uint64_t, 4> words_{};
};

/// FNV-1a, 64 bits: what stands for a name in a counter, the same on every machine, for ever.
std::uint64_t name_hash(std::string_view name);

/// Independent bits that are 0 with probability p in [0, 1), in groups of 256, each a pure function of (seed,
/// purpose, step, item, name, group).
///
/// A bit is 0 if U < p for a uniform U. The binary digits of the 256 U are compared with those of p until all
/// are decided: digit k of U_b is bit b of Philox with key (seed, purpose) and counter (64 group + k, item,
/// step, name_hash(name)). So p = 2^-k takes k bits a bit, any other p about 9. p counts with 64 binary
/// digits, rounded down: exact from 2^-11 on.
class SkewedBits {
 public:
  SkewedBits(double p, Purpose purpose, std::string_view name);

  std::array<std::uint64_t, 4> operator()(std::uint64_t seed, std::uint64_t step, std::uint64_t item,
                                          std::uint64_t group) const;

 private:
  std::uint64_t p_;  // times 2^64
  Purpose purpose_;
  std::uint64_t name_;
};

}  // namespace headlab
