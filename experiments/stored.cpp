#include "experiments/stored.hpp"

#include "core/base/error.hpp"
#include "experiments/command.hpp"
#include "experiments/console.hpp"

namespace headlab {

Store open_store(const std::string& folder) {
  require(std::filesystem::is_directory(folder), "{}: not a folder with results", folder);
  return Store(folder);
}

int exit_code(const Store& store) {
  for (const std::string& line : store.damaged()) console::errors(line);
  return store.damaged().empty() ? done : damaged;
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, value);
}

nlohmann::ordered_json json_of(const hdf5::Values& values) {
  auto all = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) all[name] = json_of(value);
  return all;
}

}  // namespace headlab
