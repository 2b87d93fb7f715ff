#pragma once
// Masks one by one, and what they do to dense tables of any scalar; f: feature, t: token.
#include "core/base/random.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {

/// One place of dropout. A value is dropped if U < rate for a uniform U, whose binary digits are bits of
/// Philox at the same place of successive blocks.
struct Site {
  std::string name;
  double rate;
  Index length;  ///< of a sequence
  bool shared = false;

  /// Of a row and a token of a sequence of the batch.
  double factor(const Masks& masks, Index sequence, Index row, Index token) const {
    if (shared) token = 0;
    const Index groups = shared ? 1 : (length + 7) / 8;
    const auto block = std::uint64_t(64 * (row / 32 * groups + token / 8));
    const auto bit = std::size_t(token % 8 * 32 + row % 32);
    double digits = rate;
    for (std::uint64_t k = 0; k < 64; ++k) {
      const bool of_rate = digits >= .5;
      const auto words = philox({block + k, std::uint64_t(sequence), masks.step, name_hash(name)},
                                {masks.seed, std::uint64_t(Purpose::dropout)});
      const bool of_u = words[bit / 64] >> bit % 64 & 1U;
      if (of_u != of_rate) return of_u ? 1 / (1 - rate) : 0;
      digits = 2 * digits - of_rate;
    }
    return 1 / (1 - rate);
  }
};

/// m of rows and the tokens of whole sequences.
inline Table<double> factors(const Site& site, const Masks& masks, Index rows, Index tokens) {
  Table<double> m(rows, tokens);
  for (Index f = 0; f < rows; ++f)
    for (Index t = 0; t < tokens; ++t)
      m(f, t) = site.factor(masks, masks.first + t / site.length, f, t % site.length);
  return m;
}

/// m u
template <class T>
Table<T> product(const Table<double>& m, Table<T> u) {
  for (std::size_t k = 0; k < u.data.size(); ++k) u.data[k] *= m.data[k];
  return u;
}

}  // namespace headlab::test
