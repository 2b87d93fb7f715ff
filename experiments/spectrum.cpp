#include "core/collaborative/spectrum.hpp"

#include <algorithm>

#include "core/collaborative/conversion.hpp"
#include "core/dnn/threads.hpp"
#include "core/log/sealed_file.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/listing.hpp"
#include "experiments/model_file.hpp"
#include "experiments/provenance.hpp"

namespace headlab {
namespace {

using namespace collaborative;

/// A row for each layer, kind, head and number of dimensions.
struct Rows {
  std::vector<std::int64_t> layer, head, dimensions;
  std::vector<std::string> kind;
  std::vector<double> share, energy, random_low, random_high;
};

const Band& band_of(const std::vector<Band>& bands, const std::string& kind) {
  return *std::ranges::find(bands, kind, &Band::kind);
}

void add(Rows& rows, std::size_t layer, const Energy& e, const Band& band) {
  for (std::size_t j = 0; j < e.cumulative.size(); ++j) {
    rows.layer.push_back(static_cast<std::int64_t>(layer));
    rows.head.push_back(e.head);
    rows.dimensions.push_back(static_cast<std::int64_t>(j + 1));
    rows.kind.push_back(e.kind);
    rows.share.push_back(static_cast<double>(j + 1) / static_cast<double>(e.cumulative.size()));
    rows.energy.push_back(e.cumulative[j]);
    rows.random_low.push_back(band.low[j]);
    rows.random_high.push_back(band.high[j]);
  }
}

std::string csv(const Rows& r) {
  std::string all = "layer,kind,head,dimensions,share,energy,random_low,random_high\n";
  for (std::size_t i = 0; i < r.layer.size(); ++i)
    all += fmt::format("{},{},{},{},{:.12g},{:.12g},{:.12g},{:.12g}\n", r.layer[i], r.kind[i], r.head[i],
                       r.dimensions[i], r.share[i], r.energy[i], r.random_low[i], r.random_high[i]);
  return all;
}

hdf5::File file(Rows r, const CommandLine& line) {
  hdf5::File f;
  for (const auto& [key, value] : provenance(line)) f.attributes["provenance." + key] = value;
  std::vector<std::int64_t> rows(r.layer.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  const auto put = [&](const char* name, hdf5::Data data, const char* long_name) {
    f.variables.push_back({name, {"row"}, std::move(data), {{"units", "1"}, {"long_name", long_name}}});
  };
  put("row", std::move(rows), "row");
  put("layer", std::move(r.layer), "layer, from 0");
  put("kind", std::move(r.kind), "whose singular values");
  put("head", std::move(r.head), "head, from 0; -1: all together");
  put("dimensions", std::move(r.dimensions), "number of largest singular values");
  put("share", std::move(r.share), "that number over all");
  put("energy", std::move(r.energy), "sum of their squares over the sum of all squares");
  put("random_low", std::move(r.random_low), "least energy of random weights of the same shape");
  put("random_high", std::move(r.random_high), "largest energy of random weights of the same shape");
  return f;
}

/// Energies in the top third of the dimensions, and what random weights have there.
struct Summary {
  std::string kind;
  double sum = 0, least = 1, most = 0, count = 0;
  const Band* band{};
};
void add(std::vector<Summary>& all, const Energy& e, const Band& band) {
  auto found = std::ranges::find(all, e.kind, &Summary::kind);
  if (found == all.end()) found = all.insert(all.end(), {.kind = e.kind, .band = &band});
  const double third = at_share(e.cumulative, 1. / 3);
  found->sum += third, ++found->count;
  found->least = std::min(found->least, third), found->most = std::max(found->most, third);
}

Listing listing(const std::vector<Summary>& all) {
  Listing l{"top_third", {{"kind", "mean", "least", "most", "random"}}, nlohmann::ordered_json::array()};
  for (const Summary& s : all) {
    const double low = at_share(s.band->low, 1. / 3), high = at_share(s.band->high, 1. / 3);
    l.rows.push_back({s.kind, fmt::format("{:.3f}", s.sum / s.count), fmt::format("{:.3f}", s.least),
                      fmt::format("{:.3f}", s.most), fmt::format("{:.3f} to {:.3f}", low, high)});
    l.json.push_back({{"kind", s.kind},
                      {"mean", s.sum / s.count},
                      {"least", s.least},
                      {"most", s.most},
                      {"random_low", low},
                      {"random_high", high}});
  }
  return l;
}

int run(const CommandLine& given) {
  CommandLine line = given;
  std::int64_t seed = 0, draws = 8;
  read(line, "seed", at_least(0), seed);
  read(line, "draws", between(1, 1000), draws);
  check_output(line, "out");
  check_output(line, "csv");
  dnn::single_threaded();
  const LoadedModel model = load_model(line.operands[0], all_keys());
  const std::vector<std::size_t> layers = chosen_layers(line, model.resolved.config.model.layers);
  line.raise();
  const auto heads = static_cast<std::size_t>(model.resolved.config.model.heads);
  Rows rows;
  std::vector<Summary> summary;
  const auto widths = layer_widths(model.stored.parameters);
  std::map<std::pair<bool, std::size_t>, std::vector<Band>> bands;
  for (const std::size_t layer : layers) {
    const HeadWeights weights = head_weights(model.stored.parameters, layer, heads);
    const QueryKeyWidth width = widths.at(layer);
    const auto [band, is_new] = bands.try_emplace({width.collaborative, width.dim});
    if (is_new)
      band->second = random_band(weights.query.shape[0], width.dim, heads, static_cast<int>(draws),
                                 static_cast<std::uint64_t>(seed), width.collaborative);
    for (const Energy& e : spectrum(weights)) {
      add(rows, layer, e, band_of(band->second, e.kind));
      add(summary, e, band_of(band->second, e.kind));
    }
  }
  if (line.has("csv")) write_atomically(line.text("csv"), csv(rows));
  if (line.has("out")) write_sealed(line.text("out"), {"headlab-spectrum", 1}, file(std::move(rows), line));
  show(listing(summary), line);
  return done;
}

}  // namespace

Command spectrum_command() {
  return {.name = "spectrum",
          .operands = "MODEL.safetensors",
          .help = "how much of a model's queries and keys lies in few dimensions",
          .details =
              "Shows, over heads and layers, which share of the squared singular values the largest third "
              "has, of\n"
              "each head's weights and their product, of all heads together, their sum and the unfoldings of "
              "the\n"
              "tensor of all heads' products; and the range of random weights of the same shape.",
          .example = "headlab spectrum model.safetensors --csv spectrum.csv",
          .fewest = 1,
          .most = 1,
          .options = {{"out", "FILE.h5", "write all of it there, a row for each number of dimensions"},
                      {"csv", "FILE.csv", "the same as CSV"},
                      {"layers", "K,..", "only these: 0,2 or 0:4; all without it"},
                      {"draws", "N", "random layers for the range (8)"},
                      {"seed", "N", "of their weights (0)"},
                      {"force", "", "let it replace a file that is there"},
                      json_option()},
          .run = run};
}

}  // namespace headlab
