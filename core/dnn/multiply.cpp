#include "core/dnn/multiply.hpp"

#include <cassert>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/dnn/compat.hpp"

namespace headlab::dnn {

void multiply(const Factor& a, const Factor& b, const Matrix& c, float scale, bool add) {
  assert(a.cols() == b.rows() && c.rows == a.rows() && c.cols == b.cols());
  const auto status = dnnl_sgemm(a.is_transposed ? 'T' : 'N', b.is_transposed ? 'T' : 'N', c.rows, c.cols,
                                 a.cols(), scale, a.matrix.data, a.matrix.pitch, b.matrix.data,
                                 b.matrix.pitch, add ? 1.F : 0.F, c.data, c.pitch);
  if (status != dnnl_success) throw std::runtime_error(fmt::format("sgemm status {}", int(status)));
}

}  // namespace headlab::dnn
