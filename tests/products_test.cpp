#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/products/multiply.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

/// A matrix somewhere inside of a larger one, whose other numbers are known.
class Inside {
 public:
  Inside(Index rows, Index cols, std::mt19937& rng)
      : pitch_(cols + 5),
        all_(static_cast<std::size_t>((rows + 2) * pitch_), 7.F),
        view_{&all_[std::size_t(pitch_ + 3)], rows, cols, pitch_} {
    fill(view_, rng);
  }
  const Matrix& view() const { return view_; }
  bool is_alone_changed() const {
    std::vector<float> rest = all_;
    for (Index r = 0; r < view_.rows; ++r)
      std::fill_n(&rest[std::size_t((r + 1) * pitch_ + 3)], view_.cols, 7.F);
    return std::ranges::all_of(rest, [](float x) { return x == 7; });
  }

 private:
  Index pitch_;
  std::vector<float> all_;
  Matrix view_;
};

struct Sizes {
  Index in, out, tokens;
};
/// One of each, whole and broken blocks of lanes and registers, and what is left to sgemm.
const Sizes sizes[] = {{1, 1, 1},   {2, 2, 8},   {3, 5, 17}, {4, 4, 64},   {5, 13, 31}, {8, 24, 33},
                       {7, 12, 16}, {16, 3, 40}, {9, 6, 48}, {33, 34, 20}, {91, 96, 19}};

struct Products : testing::TestWithParam<std::tuple<Sizes, bool, bool>> {
  std::mt19937 rng{1};
  Sizes n = std::get<0>(GetParam());
  bool flag = std::get<1>(GetParam()), add = std::get<2>(GetParam());
  Inside x{n.in, n.tokens, rng}, y{n.out, n.tokens, rng};
  static constexpr float scale = .75F;
};
INSTANTIATE_TEST_SUITE_P(Sizes, Products,
                         testing::Combine(testing::ValuesIn(sizes), testing::Bool(), testing::Bool()));

TEST_P(Products, MapTokens) {
  const Inside w(flag ? n.out : n.in, flag ? n.in : n.out, rng);
  Table<double> want = read(y.view());
  for (Index o = 0; o < n.out; ++o)
    for (Index t = 0; t < n.tokens; ++t) {
      double sum = 0;
      for (Index i = 0; i < n.in; ++i)
        sum += double(flag ? w.view()(o, i) : w.view()(i, o)) * double(x.view()(i, t));
      want(o, t) = scale * sum + (add ? want(o, t) : 0);
    }
  products::map(flag ? dnn::transposed(w.view()) : dnn::Factor(w.view()), x.view(), y.view(), scale, add);
  expect_close("y", y.view(), want, 1);
  EXPECT_TRUE(y.is_alone_changed());
}

TEST_P(Products, SumOverTokens) {
  const Inside g(n.in, n.out, rng);
  Table<double> want = read(g.view());
  for (Index i = 0; i < n.in; ++i)
    for (Index o = 0; o < n.out; ++o) {
      double sum = 0;
      for (Index t = 0; t < n.tokens; ++t) sum += double(x.view()(i, t)) * double(y.view()(o, t));
      want(i, o) = scale * sum + (add ? want(i, o) : 0);
    }
  products::outer(x.view(), y.view(), g.view(), scale, add);
  expect_close("g", g.view(), want, 1);
  EXPECT_TRUE(g.is_alone_changed());
}

}  // namespace
}  // namespace headlab::test
