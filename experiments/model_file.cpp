#include "experiments/model_file.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/numbers.hpp"
#include "core/log/sealed_file.hpp"
#include "core/train/cost.hpp"
#include "core/train/learner.hpp"

namespace headlab {

namespace {

/// By layer, of a model of which some were converted, see write_model(); else none.
std::vector<Config::Model::QueriesAndKeys> converted(const Config& config, const Tensors& parameters) {
  using enum QueryKey;
  if (config.model.query_key != collaborative) return {};
  std::vector<Config::Model::QueriesAndKeys> all;
  for (const auto& [layer, width] : layer_widths(parameters))
    all.push_back({width.collaborative ? collaborative : concatenated, std::int64_t(width.dim)});
  require(std::ssize(all) == config.model.layers, "queries of {} layers, not of model.layers = {}",
          all.size(), config.model.layers);
  for (std::size_t k = 0; k < all.size(); ++k)
    require(all[k].query_key == collaborative || all[k].dim % config.model.heads == 0,
            "layer.{}.query.weight: {} is not a multiple of model.heads = {}", k, all[k].dim,
            config.model.heads);
  const bool as_said = std::ranges::all_of(all, [&](const auto& layer) {
    return layer.query_key == collaborative && layer.dim == config.model.query_key_dim;
  });
  return as_said ? std::vector<Config::Model::QueriesAndKeys>{} : all;
}

/// ConfigError if the parameters are not those of the configuration.
void check_parameters(const Config& config, const Tensors& parameters) {
  require_feasible(config);
  Learner learner(config);
  restore(learner.parameters(), &Parameters::value, parameters);
}

}  // namespace

LoadedModel load_model(const std::string& path, const Keys& keys) {
  require(std::filesystem::is_regular_file(path), "{}: not a file that can be read", visible(path));
  LoadedModel model{read_model(path), {}};
  reading(path, [&] {
    model.resolved = resolve(keys, {read_toml(model.stored.configuration, "headlab.configuration")});
    Config& config = model.resolved.config;
    config.model.converted = converted(config, model.stored.parameters);
    check_parameters(config, model.stored.parameters);
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
