#include "core/attention/aggregation.hpp"
#include "experiments/command.hpp"
#include "experiments/listing.hpp"

namespace headlab {
namespace {

int run(const CommandLine& line) {
  Listing all{"models", {}, nlohmann::ordered_json::array()};
  const auto names = split(words(Architecture{}));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Aggregation& a = aggregation(static_cast<Architecture>(i));
    all.rows.push_back({std::string(names[i]), fmt::format("{} [{}]", a.help, a.source)});
    all.json.push_back({{"name", names[i]}, {"help", a.help}, {"source", a.source}});
  }
  return show(all, line), done;
}

}  // namespace

Command models_command() {
  return {.name = "models",
          .operands = "",
          .help = "the architectures, values of model.architecture",
          .example = "headlab models",
          .options = {json_option()},
          .run = run};
}

}  // namespace headlab
