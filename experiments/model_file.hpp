#pragma once
// What reparametrize and spectrum have in common.
#include "core/config/resolve.hpp"
#include "core/log/model_file.hpp"
#include "experiments/options.hpp"

namespace headlab {

struct LoadedModel {
  StoredModel stored;
  Resolved resolved;  ///< its configuration, with what each layer's parameters say
};
/// ConfigError without such a file. DamagedError if it is no model, its configuration is none, or the
/// parameters are not of it.
LoadedModel load_model(const std::string& path, const Keys& keys);

/// The numbers of --layers, `0,2` or `0:4`, each once; all of the model's without it. What is wrong is added
/// to the line's faults.
std::vector<std::size_t> chosen_layers(CommandLine& line, std::int64_t of_model);

}  // namespace headlab
