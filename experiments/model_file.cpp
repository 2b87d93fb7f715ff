#include "experiments/model_file.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/numbers.hpp"
#include "core/log/sealed_file.hpp"

namespace headlab {

LoadedModel load_model(const std::string& path, const Keys& keys) {
  LoadedModel model{read_model(path), {}};
  reading(path, [&] {
    model.resolved = resolve(keys, {read_toml(model.stored.configuration, "headlab.configuration")});
    return 0;
  });
  return model;
}

std::vector<std::size_t> chosen_layers(CommandLine& line, std::int64_t of_model) try {
  std::vector<std::size_t> layers(static_cast<std::size_t>(of_model));
  std::iota(layers.begin(), layers.end(), std::size_t{0});
  if (!line.has("layers")) return layers;
  layers.clear();
  for (const std::string& text : expand(line.text("layers"))) {
    const auto layer = read_integer(text);
    require(layer && *layer >= 0 && *layer < of_model, "{} is not a layer, 0 to {}", visible(text),
            of_model - 1);
    require(std::ranges::count(layers, static_cast<std::size_t>(*layer)) == 0, "{} is there twice", text);
    layers.push_back(static_cast<std::size_t>(*layer));
  }
  return layers;
} catch (const ConfigError& fault) {
  line.keys.faults.push_back(fmt::format("--layers: {}", fault.what()));
  return {};
}

}  // namespace headlab
