#include "core/log/safetensors_type.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/text.hpp"
#include "core/log/safetensors.hpp"

namespace headlab::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Type {
  std::string_view name;
  std::size_t bytes;
};
constexpr Type types[]{{"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E5M2", 1},
                       {"F8_E4M3", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},
                       {"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}};

/// IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 of the fraction.
float from_half(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000U} << 16, exponent = (h >> 10) & 31U,
                      fraction = h & 1023U;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);  // infinity, NaN
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  return std::copysign(static_cast<float>(fraction) * 0x1p-24F, std::bit_cast<float>(sign | 0x3f800000U));
}
/// The upper half of a float.
float from_bfloat(std::uint16_t b) { return std::bit_cast<float>(std::uint32_t{b} << 16); }

template <class T>
void convert(const std::string& bytes, std::vector<float>& to, float (*as_float)(T)) {
  to.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < to.size(); ++i) {
    T x{};
    std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
    to[i] = as_float(x);
  }
}

}  // namespace

std::size_t element_size(std::string_view type) {
  const auto* const found = std::ranges::find(types, type, &Type::name);
  require(found != std::end(types), "unknown type {}", visible(type));
  return found->bytes;
}

std::size_t size_in_bytes(std::string_view type, const std::vector<std::size_t>& shape) {
  std::size_t size = element_size(type);
  for (const std::size_t extent : shape)
    require(!__builtin_mul_overflow(size, extent, &size), "shape {} is too large", shape);
  return size;
}

Array<float> reals(const Tensor& tensor) {
  Array<float> a{tensor.shape, {}};
  if (tensor.type == "F32")
    convert<float>(tensor.bytes, a.elements, [](float x) { return x; });
  else if (tensor.type == "F64")
    convert<double>(tensor.bytes, a.elements, [](double x) { return static_cast<float>(x); });
  else if (tensor.type == "F16")
    convert<std::uint16_t>(tensor.bytes, a.elements, from_half);
  else if (tensor.type == "BF16")
    convert<std::uint16_t>(tensor.bytes, a.elements, from_bfloat);
  else
    throw ConfigError(fmt::format("{} is none of F64, F32, F16, BF16", tensor.type));
  return a;
}

Tensor stored(const Array<float>& array) {
  return {"F32",
          array.shape,
          {reinterpret_cast<const char*>(array.elements.data()), array.elements.size() * sizeof(float)}};
}

}  // namespace headlab::safetensors
