#include <nlohmann/json.hpp>

#include "core/config/write.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/listing.hpp"

namespace headlab {
namespace {

Listing listing(const Keys& keys) {
  Listing all{"keys", {}, nlohmann::ordered_json::array()};
  for (const Key& key : keys) {
    const std::string aliases =
        key.aliases.empty() ? "" : fmt::format(" (or {})", fmt::join(key.aliases, ", "));
    const std::string standard = defaults(keys, key);
    all.rows.push_back({key.name, standard, fmt::format("{}: {}{}", key.help, key.what, aliases)});
    all.json.push_back({{"name", key.name},
                        {"aliases", key.aliases},
                        {"default", standard},
                        {"values", key.what},
                        {"help", key.help}});
  }
  return all;
}

int run(const CommandLine& line) {
  const Keys keys = all_keys();
  const Resolved resolved = configuration(line, keys);
  if (!line.has("print"))
    show(listing(keys), line);
  else
    console::print("{}\n{}\n{}\n", toml_text(keys, resolved), canonical_text(keys, resolved.config),
                   id(keys, resolved.config));
  return done;
}

}  // namespace

Command keys_command() {
  return {.name = "keys",
          .operands = "[FILE.toml] [--KEY VALUE]...",
          .help = "the keys of a configuration, their defaults and values",
          .details = "A default that differs for a task or an architecture is shown as 100 (mode 10).",
          .example = "headlab keys --print --model.architecture nap --lr 1e-3",
          .most = 1,
          .keys = true,
          .options = {{"print", "", "the whole configuration as TOML, its canonical text and its id"},
                      json_option()},
          .run = run};
}

}  // namespace headlab
