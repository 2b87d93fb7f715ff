#include "core/train/tensors.hpp"

#include <algorithm>

namespace headlab {
namespace {

std::vector<std::size_t> shape(const Region& r) {
  return {static_cast<std::size_t>(r.rows), static_cast<std::size_t>(r.cols)};
}

Array<float> array(const Matrix& m, const Region& r) {
  Array<float> a{shape(r), {}};
  a.elements.reserve(a.shape[0] * a.shape[1]);
  for (Index row = 0; row < m.rows; ++row)
    a.elements.insert(a.elements.end(), m.row(row), m.row(row) + m.cols);
  return a;
}

}  // namespace

Tensors tensors(Parameters& parameters, Block Parameters::* block) {
  Tensors all;
  for (const Region& r : parameters.entries()) all[r.name] = array(at(parameters.*block, r), r);
  return all;
}

void restore(Parameters& parameters, Block Parameters::* block, const Tensors& tensors) {
  for (const Region& r : parameters.entries()) {
    const auto found = tensors.find(r.name);
    require(found != tensors.end(), "{} is not there, {} x {} in the model", r.name, r.rows, r.cols);
    require(found->second.shape == shape(r), "{} is {}, in the model {} x {}", r.name,
            fmt::join(found->second.shape, " x "), r.rows, r.cols);
    const Matrix to = at(parameters.*block, r);
    for (Index row = 0; row < to.rows; ++row)
      std::copy_n(found->second.elements.data() + row * to.cols, to.cols, to.row(row));
  }
  for (const auto& [name, tensor] : tensors)
    require(parameters.find(name) != nullptr, "{} is there, but not in the model", name);
}

}  // namespace headlab
