#pragma once
// arXiv:2005.09561 with the details of its code, on dense tables of any scalar; f: feature, i: query, j: key.
#include <functional>

#include "tests/support/definition.hpp"

namespace headlab::test {

template <class T>
using Row = std::vector<T>;  ///< over the keys of a query

/// m_ij of a head, queries numbered through the sequences.
using WeightMask = std::function<double(Index head, Index i, Index j)>;

/// o_i = sum_j m_ij a_ij v_j in each head and sequence; weights(l, head) gives a_i from the products l_ij =
/// q_i . k_j.
template <class T, class Weights>
Table<T> attention(const Table<T>& query, const Table<T>& key, const Table<T>& value, Index length,
                   Index heads, const Weights& weights, const WeightMask& mask) {
  const Index width = query.rows / heads, out = value.rows / heads;
  Table<T> o(value.rows, value.cols);
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < o.cols; ++i) {
      const Index first = i / length * length;
      Row<T> l(static_cast<std::size_t>(length));
      for (Index j = 0; j < length; ++j)
        for (Index f = h * width; f < (h + 1) * width; ++f)
          l[static_cast<std::size_t>(j)] += query(f, i) * key(f, first + j);
      Row<T> a = weights(l, h);
      for (Index j = 0; j < length; ++j) a[static_cast<std::size_t>(j)] *= mask(h, i, j);
      for (Index f = h * out; f < (h + 1) * out; ++f)
        for (Index j = 0; j < length; ++j) o(f, i) += a[static_cast<std::size_t>(j)] * value(f, first + j);
    }
  return o;
}

/// a_j = exp(l_j) / sum_k exp(l_k)
template <class T>
Row<T> softmax(Row<T> l) {
  auto top = std::real(l[0]);
  for (const T& x : l) top = std::max(top, std::real(x));
  T sum = 0;
  for (T& x : l) sum += x = std::exp(x - top);
  for (T& x : l) x /= sum;
  return l;
}

/// a_j = g (l_j - mean) / (std + epsilon) + b
template <class T>
Row<T> normalised(Row<T> l, const T& gain, const T& bias) {
  const double n = double(l.size());
  T mean = 0, var = 0;
  for (const T& x : l) mean += x / n;
  for (const T& x : l) var += (x - mean) * (x - mean) / n;
  for (T& x : l) x = gain * (x - mean) / (std::sqrt(var) + double(1e-3F)) + bias;
  return l;
}

template <class T>
Row<T> scaled(Row<T> l, double scale) {
  for (T& x : l) x *= scale;
  return l;
}

/// y_t = pool over the tokens s of t's sequence of x_s.
template <class T, class Pool>
Table<T> pooled(const Table<T>& x, Index length, const Pool& pool) {
  Table<T> y(x.rows, x.cols);
  for (Index f = 0; f < x.rows; ++f)
    for (Index t = 0; t < x.cols; ++t) {
      const auto first = x.data.begin() + f * x.cols + t / length * length;
      y(f, t) = pool(Row<T>(first, first + length));
    }
  return y;
}
template <class T>
T total(const Row<T>& x) {
  T sum = 0;
  for (const T& value : x) sum += value;
  return sum;
}
template <class T>
T first_max(const Row<T>& x) {
  T top = x[0];
  for (const T& value : x)
    if (std::real(value) > std::real(top)) top = value;
  return top;
}

}  // namespace headlab::test
