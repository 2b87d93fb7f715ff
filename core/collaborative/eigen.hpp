#pragma once
// Eigen, for sources of this folder alone: they are compiled for AVX2, by which the alignment and the layout
// of its types differ from what other sources would see. Headers for others have Array<double> instead.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>

#include "core/train/tensors.hpp"

namespace headlab::collaborative {

using Dense = Eigen::MatrixXd;  ///< column-major
using Eigen::Index;

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Dense dense(const Array<double>& a) {
  return Eigen::Map<const RowMajor>(a.elements.data(), static_cast<Index>(a.shape[0]),
                                    static_cast<Index>(a.shape[1]));
}
inline Array<double> array(const Dense& m) {
  Array<double> a{{static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols())}, {}};
  a.elements.resize(a.shape[0] * a.shape[1]);
  Eigen::Map<RowMajor>(a.elements.data(), m.rows(), m.cols()) = m;
  return a;
}

/// How products are cut into blocks, and so their bits, must not depend on the caches of the machine.
inline void pin_blocks() {
  constexpr std::ptrdiff_t level1 = 32 << 10, level2 = 512 << 10, level3 = 4 << 20;
  Eigen::setCpuCacheSizes(level1, level2, level3);
}

}  // namespace headlab::collaborative
