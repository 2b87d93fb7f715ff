// f: feature, t: token. Lanes hold tokens of one sequence, which starts on no line: loads are unaligned.
#include "core/kernels/attention.hpp"
#include "core/kernels/lanes/lanes.hpp"

namespace headlab::kernels::HEADLAB_ISA {
namespace {

float sum_of(const float* x, Index count) {
  Vec total = 0;
  Index t = 0;
  for (; t + Index{Vec::size()} <= count; t += Vec::size()) total += Vec(x + t, stdx::element_aligned);
  float sum = stdx::reduce(total);
  for (; t < count; ++t) sum += x[t];
  return sum;
}

float max_of(const float* x, Index count) {
  Vec tops = x[0];
  Index t = 0;
  for (; t + Index{Vec::size()} <= count; t += Vec::size())
    tops = stdx::max(tops, Vec(x + t, stdx::element_aligned));
  float top = stdx::hmax(tops);
  for (; t < count; ++t) top = x[t] > top ? x[t] : top;
  return top;
}

Index first_equal(const float* x, Index count, float wanted) {
  Index t = 0;
  while (t < count - 1 && x[t] != wanted) ++t;
  return t;
}

void put(float* y, Index count, float value, bool add) {
  for (Index t = 0; t < count; ++t) y[t] = add ? y[t] + value : value;
}

void sum_tokens(Matrix x, Matrix y, Index length, float scale, bool add) {
  for (Index f = 0; f < x.rows; ++f)
    for (Index t = 0; t < x.cols; t += length)
      put(y.row(f) + t, length, scale * sum_of(x.row(f) + t, length), add);
}

void max_tokens(Matrix x, Matrix y, Index length) {
  for (Index f = 0; f < x.rows; ++f)
    for (Index t = 0; t < x.cols; t += length) put(y.row(f) + t, length, max_of(x.row(f) + t, length), false);
}

void max_tokens_backward(Matrix x, Matrix dy, Matrix dx, Index length, bool add) {
  for (Index f = 0; f < x.rows; ++f)
    for (Index t = 0; t < x.cols; t += length) {
      const Index first = first_equal(x.row(f) + t, length, max_of(x.row(f) + t, length));
      if (!add) put(dx.row(f) + t, length, 0, false);
      dx(f, t + first) += sum_of(dy.row(f) + t, length);
    }
}

}  // namespace

const Pooling pooling{sum_tokens, max_tokens, max_tokens_backward};

}  // namespace headlab::kernels::HEADLAB_ISA
