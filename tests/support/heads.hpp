#pragma once
#include <random>

#include "core/collaborative/decomposition.hpp"

namespace headlab::test {

inline Array<double> zeros(std::size_t rows, std::size_t cols) {
  return {{rows, cols}, std::vector<double>(rows * cols)};
}
inline Array<double> gaussian(std::size_t rows, std::size_t cols, std::mt19937& rng) {
  Array<double> a = zeros(rows, cols);
  std::normal_distribution<double> normal;
  for (double& x : a.elements) x = normal(rng);
  return a;
}
inline collaborative::HeadWeights random_heads(std::size_t dim, std::size_t heads, std::size_t width,
                                               unsigned seed) {
  std::mt19937 rng(seed);
  return {heads, gaussian(dim, heads * width, rng), gaussian(dim, heads * width, rng)};
}

}  // namespace headlab::test
