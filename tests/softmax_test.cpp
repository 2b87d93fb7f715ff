#include "tests/definitions/attention.hpp"
#include "tests/support/variant.hpp"

namespace headlab::test {
namespace {

/// Outputs and gradients of one head of softmax attention for a gradient dy of outputs, in double.
struct Softened {
  Table<double> y, dquery, dkey, dvalue;
};
Softened softened(const Tables<double>& in, const Table<double>& dy, Index length, double scale) {
  const auto &q = in.at("query"), &k = in.at("key"), &v = in.at("value");
  const auto dot = [](const Table<double>& a, Index i, const Table<double>& b, Index j) {
    double sum = 0;
    for (Index f = 0; f < a.rows; ++f) sum += a(f, i) * b(f, j);
    return sum;
  };
  const auto add = [](Table<double>& to, Index i, double times, const Table<double>& x, Index j) {
    for (Index f = 0; f < x.rows; ++f) to(f, i) += times * x(f, j);
  };
  Softened out{{v.rows, v.cols}, {q.rows, q.cols}, {q.rows, q.cols}, {v.rows, v.cols}};
  for (Index i = 0; i < q.cols; ++i) {
    const Index first = i / length * length;
    Row<double> a(static_cast<std::size_t>(length));
    for (Index j = 0; j < length; ++j) a[std::size_t(j)] = scale * dot(q, i, k, first + j);
    a = softmax(a);
    for (Index j = 0; j < length; ++j) add(out.y, i, a[std::size_t(j)], v, first + j);
    const double mean = dot(dy, i, out.y, i);
    for (Index j = 0; j < length; ++j) {
      const double dl = scale * a[std::size_t(j)] * (dot(dy, i, v, first + j) - mean);
      add(out.dquery, i, dl, k, first + j);
      add(out.dkey, first + j, dl, q, i);
      add(out.dvalue, first + j, a[std::size_t(j)], dy, i);
    }
  }
  return out;
}

void expect_softmax(Alone& softmax, Index length) {
  std::mt19937 rng(2);
  fill(softmax.output_gradient(), rng);
  softmax.plan.forward();
  softmax.plan.backward();
  Tables<double> in;
  for (std::size_t k = 0; k < 3; ++k) in.emplace(softmax.inputs[k].name, read(softmax.input(k)));
  const Softened want =
      softened(in, read(softmax.output_gradient()), length, 1 / std::sqrt(double(in.at("query").rows)));
  expect_close("y", softmax.output(), want.y, 1);
  expect_close("d query", softmax.gradient(0), want.dquery, 1);
  expect_close("d key", softmax.gradient(1), want.dkey, 1);
  expect_close("d value", softmax.gradient(2), want.dvalue, 1);
}

struct Shape {
  Chunk chunk;
  Index query_key_dim, dim;
};
/// Longer sequences and more features than derivatives by a complex step have time for.
class LongSoftmax : public testing::TestWithParam<Shape> {};
const Shape long_shapes[] = {{{256, 1}, 1, 1},   {{64, 2}, 2, 2},    {{160, 1}, 3, 3},   {{96, 2}, 4, 4},
                             {{128, 2}, 8, 8},   {{128, 2}, 40, 24}, {{64, 4}, 16, 17},  {{300, 1}, 1, 1},
                             {{261, 2}, 3, 3},   {{288, 1}, 4, 4},   {{257, 1}, 8, 8},   {{130, 2}, 17, 34},
                             {{120, 3}, 40, 40}, {{300, 2}, 33, 6},  {{512, 1}, 32, 64}, {{8, 32}, 32, 32}};
INSTANTIATE_TEST_SUITE_P(Shapes, LongSoftmax, testing::ValuesIn(long_shapes));

TEST_P(LongSoftmax, MatchesItsDefinition) {
  const auto& [chunk, query_key_dim, dim] = GetParam();
  Alone softmax(Architecture::mte, chunk, 1, query_key_dim, dim);
  std::mt19937 rng(1);
  for (std::size_t k = 0; k < 3; ++k) fill(softmax.input(k), rng, .5F);
  expect_softmax(softmax, chunk.length);
}

/// Logits are whole numbers up to thousands, so that they are exact, all of a query of one sign, the largest
/// shared by several keys. Some queries' is -89 in narrow heads: of keys past the end, whose logits are 0,
/// the exponential has the bits of a NaN.
void set_large_logits(const Matrix& query, const Matrix& key) {
  for (Index t = 0; t < query.cols; ++t)
    for (Index f = 0; f < query.rows; ++f) {
      const bool first = t % 9 == 0;
      query(f, t) = f == 0 ? float(first ? -178 : 512 * (t % 9 - 4)) : f == 1 && !first ? 4 : 0;
      key(f, t) = f == 0 ? float(t % 5 + 1) : float(t % 3);
    }
}
TEST(Softmax, HoldsForLargeLogits) {
  for (const Index width : {4, 16})        // kernels for narrow and wide heads
    for (const Index length : {21, 32}) {  // weights made again and kept
      Alone softmax(Architecture::mte, {length, 2}, 1, width, width);
      std::mt19937 rng(1);
      fill(softmax.input(2), rng);
      set_large_logits(softmax.input(0), softmax.input(1));
      expect_softmax(softmax, length);
    }
}

}  // namespace
}  // namespace headlab::test
