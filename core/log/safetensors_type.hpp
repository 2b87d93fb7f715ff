#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace headlab::safetensors {

/// Bytes of an element; ConfigError for an unknown type.
std::size_t element_size(std::string_view type);

/// Bytes of all elements. ConfigError if no file can have as many.
std::size_t size_in_bytes(std::string_view type, const std::vector<std::size_t>& shape);

}  // namespace headlab::safetensors
