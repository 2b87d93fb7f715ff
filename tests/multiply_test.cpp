#include "core/dnn/multiply.hpp"

#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

using dnn::Factor, dnn::multiply, dnn::transposed;

/// Small whole numbers, so that every product and sum is exact, in a block of a larger matrix of ones.
struct Inside {
  Block block = Block(40 * 48, 1.F);
  Matrix whole{block.data(), 40, 45, 48}, part;

  Inside(Index rows, Index cols, unsigned seed) : part(columns(headlab::rows(whole, 3, rows), 5, cols)) {
    std::mt19937 rng(seed);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j) part(i, j) = float(rng() % 17) - 8;
  }
};

void expect_product(bool at_a, bool at_b, float scale, bool add) {
  constexpr Index M = 13, K = 6, N = 21;
  const Inside a = at_a ? Inside(K, M, 1) : Inside(M, K, 1), b = at_b ? Inside(N, K, 2) : Inside(K, N, 2);
  const Inside c(M, N, 3);
  Table<double> want = read(c.whole);
  for (Index i = 0; i < M; ++i)
    for (Index j = 0; j < N; ++j) {
      double sum = 0;
      for (Index k = 0; k < K; ++k)
        sum += double(at_a ? a.part(k, i) : a.part(i, k)) * double(at_b ? b.part(j, k) : b.part(k, j));
      want(3 + i, 5 + j) = (add ? want(3 + i, 5 + j) : 0) + double(scale) * sum;
    }
  multiply(at_a ? transposed(a.part) : Factor(a.part), at_b ? transposed(b.part) : Factor(b.part), c.part,
           scale, add);
  EXPECT_EQ(read(c.whole).data, want.data);
}

TEST(Multiply, IsExactInEveryFormAndWritesNothingElse) {
  for (const bool at_a : {false, true})
    for (const bool at_b : {false, true})
      for (const bool add : {false, true})
        for (const float scale : {1.F, .25F, 0.F}) expect_product(at_a, at_b, scale, add);
}

}  // namespace
}  // namespace headlab::test
