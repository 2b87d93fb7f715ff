#include "core/dnn/product.hpp"

#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

using dnn::Product, dnn::transposed;

/// Small whole numbers: every product and sum is exact.
Matrix whole_numbers(Block& block, const Region& r, unsigned seed) {
  std::mt19937 rng(seed);
  const Matrix m = at(block, r);
  for (Index i = 0; i < r.rows; ++i)
    for (Index j = 0; j < r.cols; ++j) m(i, j) = float(rng() % 17) - 8;
  return m;
}

/// c (+)= a b with a: (M, K) and b: (K, N), each stored as it is or transposed.
void expect_product(Index M, Index K, Index N, bool at_a, bool at_b, bool add) {
  Ledger ledger;
  const auto book = [&](Index r, Index c, bool t) {
    return ledger.book("", t ? c : r, t ? r : c, pitch_for(t ? r : c));
  };
  const Region a = book(M, K, at_a), b = book(K, N, at_b), c = book(M, N, false);
  Parameters parameters;
  Planner planner(parameters, {1, 1});
  Product product(planner, "product", at_a ? transposed(a) : a, at_b ? transposed(b) : b, c);
  Arena arena(planner);
  Block block = poisoned(ledger);
  const Matrix ma = whole_numbers(block, a, 1), mb = whole_numbers(block, b, 2);
  const Matrix mc = add ? whole_numbers(block, c, 3) : at(block, c);
  const Table<double> before = read(mc);
  Work work;
  product.run({parameters, arena, work}, ma, mb, mc, add);
  for (Index i = 0; i < M; ++i)
    for (Index j = 0; j < N; ++j) {
      double want = add ? before(i, j) : 0;
      for (Index k = 0; k < K; ++k)
        want += double(at_a ? ma(k, i) : ma(i, k)) * double(at_b ? mb(j, k) : mb(k, j));
      ASSERT_EQ(mc(i, j), want) << i << ", " << j;
    }
}

TEST(Product, IsExactInEveryForm) {
  for (const bool at_a : {false, true})
    for (const bool at_b : {false, true})
      for (const bool add : {false, true}) {
        expect_product(5, 3, 7, at_a, at_b, add);       // sgemm
        expect_product(128, 65, 128, at_a, at_b, add);  // oneDNN's matmul
      }
}

TEST(Product, NamesTheLayerThatRejectsItsOperands) {
  Parameters parameters;
  Planner p(parameters, {4, 1});
  const Region a{"a", 5, 3, 3, 0}, c{"c", 5, 5, 5, 0};
  expect_config_error([&] { Product(p, "hidden.forward", a, a, c); },
                      "hidden.forward: cannot multiply 5 x 3 by 5 x 3 into 5 x 5");
}

}  // namespace
}  // namespace headlab::test
