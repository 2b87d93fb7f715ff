#include "core/analytic/at_start.hpp"
#include "core/analytic/exclusive_or.hpp"
#include "core/analytic/output_cage.hpp"
#include "core/dnn/threads.hpp"
#include "core/log/atomic_file.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/listing.hpp"
#include "experiments/stored.hpp"

namespace headlab {
namespace {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;

  template <class... Cells>
  void add(const Cells&... cells) {
    rows.emplace_back();
    (rows.back().emplace_back(cells), ...);
  }
};

Table at_start(std::int64_t seed) {
  constexpr Index replicates = 16;
  std::vector<Index> lengths;
  for (Index length = 1; length <= 2048; length *= 2) lengths.push_back(length);
  Table table{{"aggregation", "length", "std", "std_error", "norm", "norm_error", "closed_form"}, {}};
  for (const SizeAtStart& s : sizes_at_start(lengths, replicates, seed))
    table.add(s.aggregation, s.length, s.deviation, s.deviation_error, s.norm, s.norm_error, s.closed_form);
  return table;
}

Table exclusive_or(std::int64_t /*seed*/) {
  Table table{{"aggregation", "query", "mean_squared_error", "mean_squared_bound", "largest_error",
               "largest_bound", "exact", "output_00", "output_01", "output_10", "output_11"},
              {}};
  for (const ExclusiveOrFit& f : headlab::exclusive_or()) {
    table.add(f.aggregation, f.query, f.mean_squared_error, f.mean_squared_bound, f.largest_error,
              f.largest_bound, std::int64_t{f.exact});
    for (const double output : f.outputs) table.rows.back().emplace_back(output);
  }
  return table;
}

Table output_cage(std::int64_t seed) {
  constexpr Index outputs = 600;
  Table table{{"kind", "aggregation", "x", "y", "outside"}, {}};
  for (const CagePoint& p : headlab::output_cage(outputs, seed))
    table.add(p.kind, p.aggregation, p.at[0], p.at[1], p.outside);
  return table;
}

struct Experiment {
  const char *name, *help;
  Table (*run)(std::int64_t seed);
};
constexpr Experiment experiments[]{
    {"at-start", "the size of what each aggregation gives before training, at lengths 1 to 2048", at_start},
    {"xor", "the best fit of XOR by one head of each aggregation, and the exact bounds", exclusive_or},
    {"output-cage", "values in the plane, their convex hull, and where each aggregation's outputs lie",
     output_cage}};

std::string csv(const Table& table) {
  std::string all = fmt::format("{}\n", fmt::join(table.columns, ","));
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    std::ranges::transform(row, std::back_inserter(cells), [](const Value& v) { return text(v); });
    all += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return all;
}

std::string shown(const Value& v) {
  const auto* real = std::get_if<double>(&v);
  return real == nullptr ? text(v) : fmt::format("{:.4g}", *real);
}
Listing listing(const Table& table) {
  Listing all{"rows", {table.columns}, nlohmann::ordered_json::array()};
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object;
    all.rows.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) {
      all.rows.back().push_back(shown(row[c]));
      object[table.columns[c]] = json_of(row[c]);
    }
    all.json.push_back(object);
  }
  return all;
}

const Experiment& experiment(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Experiment& e : experiments) {
    if (e.name == name) return e;
    names.emplace_back(e.name);
  }
  throw ConfigError(fmt::format("analytic: {} is none of {}", name, fmt::join(names, ", ")));
}

int run(const CommandLine& given) {
  CommandLine line = given;
  std::int64_t seed = 0;
  read(line, "seed", at_least(0), seed);
  check_output(line, "out");
  if (line.has("out") && std::filesystem::path(line.text("out")).extension() != ".csv")
    line.keys.faults.push_back(
        fmt::format("--out: {} is not a name that ends in .csv", visible(line.text("out"))));
  line.raise();
  const Experiment& chosen = experiment(line.operands[0]);
  dnn::single_threaded();
  const Table table = chosen.run(seed);
  if (line.has("out")) write_atomically(line.text("out"), csv(table));
  if (!line.has("out") || line.has("json")) show(listing(table), line);
  return done;
}

std::string details() {
  std::vector<std::vector<std::string>> rows;
  for (const Experiment& e : experiments) rows.push_back({fmt::format("  {}", e.name), e.help});
  const std::string table = console::table(rows, 0);
  return "EXPERIMENT, from arXiv 2005.09561:\n" + table +
         "closed_form of at-start is what std is in theory: exactly, but softmax's is its limit for large "
         "lengths.";
}

}  // namespace

Command analytic_command() {
  return {.name = "analytic",
          .operands = "EXPERIMENT",
          .help = "experiments without training: at-start, xor, output-cage",
          .details = details(),
          .example = "headlab analytic xor",
          .fewest = 1,
          .most = 1,
          .options = {{"seed", "N", "of what is drawn at random (0)"},
                      {"out", "FILE.csv", "write all digits there instead of a table"},
                      {"force", "", "let it replace a file that is there"},
                      json_option()},
          .run = run};
}

}  // namespace headlab
