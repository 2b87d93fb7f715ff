#include <cmath>

#include "core/attention/aggregation.hpp"
#include "core/base/numbers.hpp"
#include "core/collaborative/conversion.hpp"
#include "core/collaborative/inputs.hpp"
#include "core/config/write.hpp"
#include "core/dnn/threads.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/listing.hpp"
#include "experiments/model_file.hpp"
#include "experiments/provenance.hpp"
#include "sweeps/processors.hpp"
#include "sweeps/progress.hpp"

namespace headlab {
namespace {

using namespace collaborative;

struct Request {
  std::int64_t dim = 1, seed = 0, sweeps = 500, starts = 3, batch = 8, whiten = 0;
  double tolerance = 1e-6;
  Method method = Method::als;
  bool compatible = false;
};

void require_option(CommandLine& line, const std::string& option) {
  if (!line.has(option)) line.keys.faults.push_back(fmt::format("--{}: must be given", option));
}

Request request(CommandLine& line) {
  Request r;
  for (const char* option : {"dim", "out"}) require_option(line, option);
  constexpr double most = 1e6;
  read(line, "dim", between(1, most), r.dim);
  read(line, "seed", at_least(0), r.seed);
  read(line, "sweeps", between(1, most), r.sweeps);
  read(line, "starts", between(0, most), r.starts);
  read(line, "batch", between(1, most), r.batch);
  read(line, "whiten", between(1, most), r.whiten);
  read(line, "tolerance", at_least(0), r.tolerance);
  r.compatible = line.has("compatible");
  const std::string method = line.has("method") ? line.text("method") : "als";
  if (method == "head-svd") r.method = Method::head_svd;
  if (method != "als" && method != "head-svd")
    line.keys.faults.push_back(fmt::format("--method: {} is not one of als, head-svd", visible(method)));
  if (r.compatible && (r.method == Method::head_svd || r.whiten > 0))
    line.keys.faults.emplace_back("--compatible: goes with neither --whiten nor --method head-svd");
  return r;
}

/// With model.query_key = collaborative; ConfigError where that cannot be.
Config shared(const Keys& keys, const LoadedModel& model, std::int64_t dim) {
  const Config& config = model.resolved.config;
  require(!aggregation(config.model.architecture).pools, "model.architecture: {} has no queries and keys",
          text(value(config.model.architecture)));
  require(config.model.query_key != QueryKey::multi_query,
          "model.query_key: multi_query is not one of concatenated, collaborative");
  return resolve(
             keys,
             {read_toml(model.stored.configuration, "headlab.configuration"),
              {{{"model.query_key", "collaborative", ""}, {"model.query_key_dim", number(double(dim)), ""}},
               {}}})
      .config;
}

Conversion conversion(const Request& r, const LoadedModel& model) {
  Conversion c;
  c.settings.dim = static_cast<std::size_t>(r.dim);
  c.settings.method = r.method;
  c.settings.tolerance = r.tolerance;
  c.settings.sweeps = static_cast<int>(r.sweeps);
  c.settings.starts = static_cast<int>(r.starts);
  c.settings.compatible = r.compatible;
  c.settings.seed = static_cast<std::uint64_t>(r.seed);
  const Config& config = model.resolved.config;
  c.scales = score_scales(config);
  c.threads = static_cast<std::size_t>(available_processors());
  c.seen = layer_inputs(config, model.stored.parameters, Purpose::test, r.batch);
  if (r.whiten > 0)
    c.whitened_by = layer_inputs(config, model.stored.parameters, Purpose::validation, r.whiten);
  return c;
}

/// A live line on a terminal, nothing elsewhere.
std::function<void(std::size_t)> progress(std::size_t layers) {
  const Terminal terminal = standard_error();
  if (!terminal.live) return [](std::size_t) {};
  terminal.write(fmt::format("0 of {} layers\r", layers));
  return [=](std::size_t ready) {
    terminal.write(ready < layers ? fmt::format("{} of {} layers\r", ready, layers) : "\x1b[K");
  };
}

Listing listing(const std::vector<LayerReport>& reports) {
  Listing all{"layers",
              {{"layer", "D_k", "R", "error", "floor", "sweeps", "seconds", "congruence", "score difference",
                "parameters"}},
              nlohmann::ordered_json::array()};
  for (const LayerReport& r : reports) {
    const Decomposition& d = r.decomposition;
    all.rows.push_back({fmt::format("{}", r.layer), fmt::format("{}", r.features), fmt::format("{}", r.dim),
                        fmt::format("{:.6f}", d.error), fmt::format("{:.6f}", d.floor),
                        fmt::format("{}", d.errors.size()), fmt::format("{:.2f}", d.seconds),
                        fmt::format("{:.3f}", d.congruence), fmt::format("{:.3g}", r.score_difference),
                        fmt::format("{} of {}", r.parameters_after, r.parameters_before)});
    all.json.push_back({{"layer", r.layer},
                        {"features", r.features},
                        {"dim", r.dim},
                        {"error", d.error},
                        {"floor", d.floor},
                        {"sweeps", d.errors.size()},
                        {"seconds", d.seconds},
                        {"congruence", d.congruence},
                        {"score_difference", r.score_difference},
                        {"parameters_before", r.parameters_before},
                        {"parameters_after", r.parameters_after}});
  }
  return all;
}

std::map<std::string, std::string> remarks(const StoredModel& before, const CommandLine& line,
                                           const std::vector<LayerReport>& reports) {
  std::map<std::string, std::string> all = before.remarks;
  for (const auto& [key, value] : provenance(line)) all["reparametrize." + key] = text(value);
  for (const LayerReport& r : reports)
    all[fmt::format("reparametrize.layer.{}.error", r.layer)] = number(r.decomposition.error);
  return all;
}

int run(const CommandLine& given) {
  CommandLine line = given;
  const Request r = request(line);
  check_output(line, "out");
  const Keys keys = all_keys();
  dnn::single_threaded();
  const LoadedModel model = load_model(line.operands[0], keys);
  const std::vector<std::size_t> layers = chosen_layers(line, model.resolved.config.model.layers);
  line.raise();
  const Config after = shared(keys, model, r.dim);
  Conversion c = conversion(r, model);
  c.layers = layers;
  c.ready = progress(layers.size());
  const Converted all = converted(model.stored.parameters, static_cast<std::size_t>(after.model.heads), c);
  write_model(line.text("out"),
              {toml_text(keys, {after, {}, {}}), remarks(model.stored, line, all.reports), all.parameters});
  show(listing(all.reports), line);
  return done;
}

}  // namespace

Command reparametrize_command() {
  return {.name = "reparametrize",
          .operands = "MODEL.safetensors",
          .help = "share queries and keys among a model's heads, fewer of them or as many",
          .details =
              "error: |T - T^| / |T| of the tensor of all heads' query-key products; floor: no R features "
              "can be\n"
              "below; congruence: near -1 components cancel each other; score difference: the largest on "
              "--batch.\n"
              "R of at least the model's D_k is exact. arXiv 2006.16362",
          .example = "headlab reparametrize model.safetensors --dim 32 --out shared.safetensors",
          .fewest = 1,
          .most = 1,
          .options = {{"dim", "R", "shared features of queries and keys"},
                      {"out", "MODEL2.safetensors", "the new model"},
                      {"layers", "K,..", "only these: 0,2 or 0:4; all without it"},
                      {"method", "M",
                       "als (which holds without it), or head-svd: the largest singular triplets, "
                       "none shared"},
                      {"seed", "N", "of random starts (0)"},
                      {"tolerance", "X", "end when the error changes by less (1e-6)"},
                      {"sweeps", "N", "at most (500)"},
                      {"starts", "N", "random starts beside that from singular vectors (3)"},
                      {"compatible", "", "as published: one uniform start, 100 plain sweeps"},
                      {"whiten", "N", "count errors as they show in scores of N validation sequences"},
                      {"batch", "N", "test sequences to compare scores on (8)"},
                      {"force", "", "let it replace a file that is there"},
                      json_option()},
          .run = run};
}

}  // namespace headlab
