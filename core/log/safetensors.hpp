#pragma once
// The safetensors format: 8 bytes with the length of a header (little-endian), the header in JSON
//   {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"KEY":
//   "TEXT"}}
// and the elements of all tensors, row-major and little-endian, without gaps.
// https://huggingface.co/docs/safetensors
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/train/tensors.hpp"

namespace headlab::safetensors {

struct Tensor {
  std::string type;  ///< F64, F32, F16, BF16, F8_E5M2, F8_E4M3, I64 ... I8, U64 ... U8 or BOOL
  std::vector<std::size_t> shape;
  std::string bytes;

  bool operator==(const Tensor&) const = default;
};
struct File {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  bool operator==(const File&) const = default;
};

/// The file, or of its tensors those that are wanted; the others' bytes are not read. DamagedError, with the
/// path, for whatever is not as the format wants it: truncated, a header that is too long or no JSON, a name
/// given twice, an unknown type, a shape or offsets that do not fit, gaps, overlaps, bytes left over.
File read(const std::filesystem::path& from, const std::function<bool(std::string_view)>& wanted = {});

/// Atomically, and only if it reads back as the same bytes. Tensors with larger elements come first, so that
/// all lie at multiples of their elements' size. std::logic_error for bytes that do not fill their shape.
void write(const std::filesystem::path& to, const File& file);

/// F64, F32, F16 and BF16 as float32, F64 rounded to nearest. ConfigError for other types.
Array<float> reals(const Tensor& tensor);
/// F32.
Tensor stored(const Array<float>& array);

}  // namespace headlab::safetensors
