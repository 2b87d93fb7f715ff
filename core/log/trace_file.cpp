#include "core/log/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headlab {
namespace {

const Format format{"headlab-trace", 1};

void put(hdf5::File& file, std::string name, hdf5::Data data, std::vector<std::size_t> shape,
         const char* long_name, const char* units = "1") {
  file.variables.push_back(
      {std::move(name), {}, std::move(data), {{"units", units}, {"long_name", long_name}}, std::move(shape)});
}
template <class T>
void put(hdf5::File& file, std::string name, const Array<T>& array, const char* long_name) {
  put(file, std::move(name), array.elements, array.shape, long_name);
}
void put(hdf5::File& file, const std::string& group, const Tensors& tensors, const char* long_name) {
  for (const auto& [name, tensor] : tensors) put(file, group + name, tensor, long_name);
}
void put(hdf5::File& file, const Trace::Steps& steps) {
  const auto by_step = [&](const char* name, const std::vector<double>& v, const char* long_name,
                           const char* units) {
    if (v.size() != steps.loss.size())
      throw std::logic_error(
          fmt::format("steps/{}: has {} steps, steps/loss has {}", name, v.size(), steps.loss.size()));
    put(file, fmt::format("steps/{}", name), v, {v.size()}, long_name, units);
  };
  put(file, "steps/tokens", steps.tokens, "tokens of the training batches");
  put(file, "steps/labels", steps.labels, "their labels");
  by_step("loss", steps.loss, "mean cross-entropy of the batch", "nat");
  by_step("learning_rate", steps.learning_rate, "learning rate", "1");
  by_step("gradient_norm", steps.gradient_norm, "global gradient norm before clipping", "1");
}

std::map<std::string_view, const hdf5::Variable*> by_name(const hdf5::File& file) {
  std::map<std::string_view, const hdf5::Variable*> all;
  for (const hdf5::Variable& v : file.variables) all[v.name] = &v;
  return all;
}
template <class T>
Array<T> array(const hdf5::Variable& v) {
  return {v.shape, std::get<std::vector<T>>(v.data)};
}
Tensors tensors(const hdf5::File& file, std::string_view group) {
  Tensors all;
  for (const hdf5::Variable& v : file.variables)
    if (v.name.starts_with(group)) all[v.name.substr(group.size())] = array<float>(v);
  return all;
}
/// The relative lengths that have a group.
std::vector<std::string> lengths(const hdf5::File& file) {
  constexpr std::string_view before = "evaluation/", after = "/tokens";
  std::vector<std::string> all;
  for (const hdf5::Variable& v : file.variables)
    if (v.name.starts_with(before) && v.name.ends_with(after))
      all.push_back(v.name.substr(before.size(), v.name.size() - before.size() - after.size()));
  return all;
}

}  // namespace

void write_trace(const std::filesystem::path& to, const TraceRecord& trace) {
  hdf5::File file;
  for (const auto& [key, value] : trace.provenance) file.attributes["provenance." + key] = value;
  file.groups["config"] = trace.config;
  put(file, "initial/", trace.initial, "before the first step");
  put(file, "final/", trace.final, "after the last step");
  put(file, trace.steps);
  put(file, "first/logits", trace.first.logits, "logits of the first step");
  put(file, "first/gradients/", trace.first.gradients, "gradient at the first step before clipping");
  for (const auto& [length, evaluation] : trace.evaluation) {
    const std::string group = "evaluation/" + length + "/";
    put(file, group + "tokens", evaluation.tokens, "tokens");
    put(file, group + "labels", evaluation.labels, "their labels");
    put(file, group + "logits", evaluation.logits, "logits after the last step");
  }
  write_sealed(to, format, std::move(file));
}

TraceRecord read_trace(const std::filesystem::path& from) {
  return reading(from, [&] {
    hdf5::File file = read_sealed(from, format);
    const auto variables = by_name(file);
    const auto integers = [&](const std::string& name) { return array<std::int32_t>(*variables.at(name)); };
    const auto reals = [&](const std::string& name) { return array<float>(*variables.at(name)); };
    const auto doubles = [&](const char* name) { return array<double>(*variables.at(name)).elements; };
    TraceRecord t;
    t.config = file.groups["config"];
    for (const auto& [key, value] : file.attributes) t.provenance[key.substr(key.find('.') + 1)] = value;
    t.initial = tensors(file, "initial/");
    t.final = tensors(file, "final/");
    t.steps = {integers("steps/tokens"), integers("steps/labels"), doubles("steps/loss"),
               doubles("steps/learning_rate"), doubles("steps/gradient_norm")};
    t.first = {reals("first/logits"), tensors(file, "first/gradients/")};
    for (const std::string& length : lengths(file)) {
      const std::string group = "evaluation/" + length + "/";
      t.evaluation[length] = {integers(group + "tokens"), integers(group + "labels"),
                              reals(group + "logits")};
    }
    return t;
  });
}

}  // namespace headlab
