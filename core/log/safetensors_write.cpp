#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/log/safetensors.hpp"
#include "core/log/safetensors_type.hpp"
#include "core/log/sealed_file.hpp"

namespace headlab::safetensors {
namespace {

using Named = std::map<std::string, Tensor>::value_type;

std::vector<const Named*> in_order(const File& file) {
  std::vector<const Named*> order;
  for (const Named& tensor : file.tensors) order.push_back(&tensor);
  std::ranges::sort(order, {}, [](const Named* t) {
    return std::pair(-static_cast<int>(element_size(t->second.type)), std::string_view(t->first));
  });
  return order;
}

/// The header behind its length, with blanks up to a multiple of 8 bytes.
std::string head(const File& file, const std::vector<const Named*>& order) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t end = 0;
  for (const Named* named : order) {
    const auto& [name, tensor] = *named;
    const std::size_t begin = end;
    end += tensor.bytes.size();
    if (tensor.bytes.size() != size_in_bytes(tensor.type, tensor.shape))
      throw std::logic_error(fmt::format("{}: {} bytes do not fill its shape", name, tensor.bytes.size()));
    header[name] = {{"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  constexpr std::size_t alignment = 8;
  text.append((alignment - text.size() % alignment) % alignment, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

void require_written(const std::filesystem::path& to, const std::filesystem::path& temporary,
                     const std::vector<std::string_view>& pieces) {
  const InputFile written(temporary);
  std::size_t at = 0;
  const auto is_there = [&](std::string_view p) {
    return written.bytes(std::exchange(at, at + p.size()), p.size()) == p;
  };
  if (!std::ranges::all_of(pieces, is_there) || written.size() != at)
    throw DamagedError(fmt::format("{}: does not read back as it was written", to.native()));
}

}  // namespace

void write(const std::filesystem::path& to, const File& file) {
  const std::vector<const Named*> order = in_order(file);
  const std::string first = head(file, order);
  std::vector<std::string_view> pieces{first};
  for (const Named* tensor : order) pieces.emplace_back(tensor->second.bytes);
  write_atomically(to, pieces,
                   [&](const std::filesystem::path& temporary) { require_written(to, temporary, pieces); });
}

}  // namespace headlab::safetensors
