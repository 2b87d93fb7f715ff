#pragma once
// Parameters outside of their block, by name.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/memory/parameters.hpp"

namespace headlab {

/// Row-major.
template <class T>
struct Array {
  std::vector<std::size_t> shape;
  std::vector<T> elements;

  bool operator==(const Array&) const = default;
};
/// By parameter; a weight is (in, out).
using Tensors = std::map<std::string, Array<float>>;

/// One of the four blocks, for example &Parameters::value.
Tensors tensors(Parameters& parameters, Block Parameters::* block);
/// Puts the tensors into the block. ConfigError, with the first that differs, if their names and shapes are
/// not those of the parameters.
void restore(Parameters& parameters, Block Parameters::* block, const Tensors& tensors);

}  // namespace headlab
