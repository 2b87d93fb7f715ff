#pragma once
// The tensor of arXiv:2006.16362 3.3 as all of its elements, and a step of alternating least squares on it,
// by plain loops.
#include <cmath>
#include <numeric>

#include "tests/support/heads.hpp"

namespace headlab::test {

using namespace collaborative;

/// T as all of its elements, by plain loops.
struct Tensor3 {
  std::size_t heads, dim;
  std::vector<double> elements = std::vector<double>(heads * dim * dim);

  double& at(std::size_t i, std::size_t d, std::size_t e) { return elements[(i * dim + d) * dim + e]; }
  double norm() const {
    return std::sqrt(std::inner_product(elements.begin(), elements.end(), elements.begin(), 0.));
  }
};

inline Tensor3 whole(const HeadWeights& w) {
  const std::size_t dim = w.query.shape[0], features = w.query.shape[1], width = features / w.heads;
  Tensor3 t{w.heads, dim};
  for (std::size_t f = 0; f < features; ++f)
    for (std::size_t d = 0; d < dim; ++d)
      for (std::size_t e = 0; e < dim; ++e)
        t.at(f / width, d, e) += w.query.elements[d * features + f] * w.key.elements[e * features + f];
  return t;
}
inline Tensor3 whole(const Factors& f) {
  const std::size_t dim = f.query.shape[0], rank = f.query.shape[1];
  Tensor3 t{f.mixing.shape[0], dim};
  for (std::size_t i = 0; i < t.heads; ++i)
    for (std::size_t d = 0; d < dim; ++d)
      for (std::size_t e = 0; e < dim; ++e)
        for (std::size_t r = 0; r < rank; ++r)
          t.at(i, d, e) +=
              f.mixing.elements[i * rank + r] * f.query.elements[d * rank + r] * f.key.elements[e * rank + r];
  return t;
}
inline double distance(const Tensor3& a, const Tensor3& b) {
  Tensor3 c = a;
  for (std::size_t k = 0; k < c.elements.size(); ++k) c.elements[k] -= b.elements[k];
  return c.norm() / a.norm();
}
inline double distance(const Array<double>& a, const Array<double>& b) {
  double squares = 0, norm = 0;
  for (std::size_t k = 0; k < a.elements.size(); ++k)
    squares += std::pow(a.elements[k] - b.elements[k], 2), norm += std::pow(a.elements[k], 2);
  return a.shape == b.shape ? std::sqrt(squares / norm) : INFINITY;
}

/// What mttkrp() gives, from T's elements.
inline Factors dense_mttkrp(Tensor3 t, const Factors& f) {
  const std::size_t rank = f.query.shape[1];
  Factors out{zeros(t.dim, rank), zeros(t.dim, rank), zeros(t.heads, rank)};
  for (std::size_t i = 0; i < t.heads; ++i)
    for (std::size_t d = 0; d < t.dim; ++d)
      for (std::size_t e = 0; e < t.dim; ++e)
        for (std::size_t r = 0; r < rank; ++r) {
          const double a = f.query.elements[d * rank + r], b = f.key.elements[e * rank + r],
                       m = f.mixing.elements[i * rank + r], x = t.at(i, d, e);
          out.query.elements[d * rank + r] += x * m * b;
          out.key.elements[e * rank + r] += x * m * a;
          out.mixing.elements[i * rank + r] += x * a * b;
        }
  return out;
}

/// X (P * Q + ridge)^-1 with P = F^T F, Q = G^T G, by Gaussian elimination.
inline Array<double> solved(Array<double> x, const Array<double>& f, const Array<double>& g) {
  const std::size_t rank = f.shape[1];
  std::vector<double> m(rank * rank);
  const auto gram = [&](const Array<double>& a, std::size_t r, std::size_t s) {
    double sum = 0;
    for (std::size_t k = 0; k < a.shape[0]; ++k) sum += a.elements[k * rank + r] * a.elements[k * rank + s];
    return sum;
  };
  double trace = 0;
  for (std::size_t r = 0; r < rank; ++r)
    for (std::size_t s = 0; s < rank; ++s) m[r * rank + s] = gram(f, r, s) * gram(g, r, s);
  for (std::size_t r = 0; r < rank; ++r) trace += m[r * rank + r];
  for (std::size_t r = 0; r < rank; ++r) m[r * rank + r] += 1e-10 * trace / static_cast<double>(rank);
  for (std::size_t p = 0; p < rank; ++p)  // symmetric and positive definite: no pivoting
    for (std::size_t r = 0; r < rank; ++r) {
      if (r == p) continue;
      const double by = m[r * rank + p] / m[p * rank + p];
      for (std::size_t s = 0; s < rank; ++s) m[r * rank + s] -= by * m[p * rank + s];
      for (std::size_t k = 0; k < x.shape[0]; ++k) x.elements[k * rank + r] -= by * x.elements[k * rank + p];
    }
  for (std::size_t k = 0; k < x.shape[0]; ++k)
    for (std::size_t r = 0; r < rank; ++r) x.elements[k * rank + r] /= m[r * rank + r];
  return x;
}

}  // namespace headlab::test
