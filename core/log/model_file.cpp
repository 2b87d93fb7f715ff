#include "core/log/model_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/log/safetensors.hpp"
#include "core/log/sealed_file.hpp"

namespace headlab {
namespace {

constexpr std::string_view version = "1";

bool is_transposed(std::string_view name) {
  return name.ends_with(".weight") || name.ends_with(".content_bias");
}
bool is_flat(std::string_view name) { return name.ends_with(".bias") || name.ends_with(".gain"); }

Array<float> transposed(const Array<float>& a) {
  const std::size_t rows = a.shape[0], cols = a.shape[1];
  Array<float> t{{cols, rows}, std::vector<float>(a.elements.size())};
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) t.elements[c * rows + r] = a.elements[r * cols + c];
  return t;
}

safetensors::Tensor in_file(const std::string& name, const Array<float>& parameter) {
  if (is_transposed(name)) return safetensors::stored(transposed(parameter));
  safetensors::Tensor tensor = safetensors::stored(parameter);
  if (is_flat(name) && tensor.shape[0] == 1) tensor.shape.erase(tensor.shape.begin());
  return tensor;
}

Array<float> in_memory(const std::string& name, const safetensors::Tensor& tensor) try {
  Array<float> a = safetensors::reals(tensor);
  if (is_flat(name) && a.shape.size() == 1) a.shape.insert(a.shape.begin(), 1);
  require(a.shape.size() == 2, "{} axes where a parameter has 2", a.shape.size());
  return is_transposed(name) ? transposed(a) : a;
} catch (const ConfigError& fault) {
  throw ConfigError(fmt::format("{}: {}", visible(name), fault.what()));
}

std::string taken(std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto node = metadata.extract(key);
  return node ? std::move(node.mapped()) : "";
}

}  // namespace

void write_model(const std::filesystem::path& to, const StoredModel& model) {
  safetensors::File file{{{"format", "pt"},
                          {"headlab.format", "headlab-model"},
                          {"headlab.format_version", std::string(version)},
                          {"headlab.configuration", model.configuration}},
                         {}};
  file.metadata.insert(model.remarks.begin(), model.remarks.end());
  for (const auto& [name, parameter] : model.parameters) file.tensors[name] = in_file(name, parameter);
  safetensors::write(to, file);
}

StoredModel read_model(const std::filesystem::path& from) {
  safetensors::File file = safetensors::read(from);
  return reading(from, [&] {
    const std::string format = taken(file.metadata, "headlab.format");
    require(format == "headlab-model", "not a model of headlab's: its headlab.format is {}", visible(format));
    const std::string is = taken(file.metadata, "headlab.format_version");
    require(is == version, "headlab-model of version {}; this headlab reads {}", visible(is), version);
    taken(file.metadata, "format");
    StoredModel model{taken(file.metadata, "headlab.configuration"), {}, {}};
    model.remarks = std::move(file.metadata);
    for (const auto& [name, tensor] : file.tensors) model.parameters[name] = in_memory(name, tensor);
    return model;
  });
}

std::string digest(const Tensors& parameters) {
  std::string all;
  for (const auto& [name, a] : parameters) {
    all += fmt::format("{}\n{}\n", name, fmt::join(a.shape, " "));
    all.append(reinterpret_cast<const char*>(a.elements.data()), a.elements.size() * sizeof(float));
  }
  return sha256(all);
}

std::map<std::size_t, QueryKeyWidth> layer_widths(const Tensors& parameters) {
  constexpr std::string_view before = "layer.", after = ".query.weight";
  std::map<std::size_t, QueryKeyWidth> all;
  for (const auto& [name, tensor] : parameters) {
    if (!name.starts_with(before) || !name.ends_with(after)) continue;
    const auto layer = read_integer(
        std::string_view(name).substr(before.size(), name.size() - before.size() - after.size()));
    if (layer && *layer >= 0)
      all[static_cast<std::size_t>(*layer)] = {parameters.contains(fmt::format("layer.{}.mixing", *layer)),
                                               tensor.shape.at(1)};
  }
  return all;
}

}  // namespace headlab
