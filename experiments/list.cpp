#include <algorithm>

#include "core/base/faults.hpp"
#include "experiments/columns.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/filter.hpp"
#include "experiments/listing.hpp"
#include "experiments/stored.hpp"

namespace headlab {
namespace {

std::vector<std::string> varied(const Keys& keys, const std::vector<Columns>& trials) {
  std::vector<std::string> names;
  for (const Key& key : keys) {
    std::set<std::string> values;
    for (const Columns& trial : trials) values.insert(shown(trial, key.name));
    if (values.size() > 1) names.push_back(key.name);
  }
  return names;
}

/// The axes of the plan, or else the keys that vary, between what trials are called and what they reached.
std::vector<std::string> usual_columns(const Keys& keys, const std::optional<SweepPlan>& plan,
                                       const std::vector<Columns>& trials) {
  std::vector<std::string> names{"id", "status"};
  if (plan)
    for (const SweepAxis& axis : plan->specification.grid) names.push_back(axis.key);
  else
    std::ranges::copy(varied(keys, trials), std::back_inserter(names));
  names.insert(names.end(), {"best_validation_accuracy", "test_accuracy", "seconds"});
  return names;
}

std::vector<std::string> chosen_columns(const std::string& text, const ColumnNames& names) {
  std::vector<std::string> chosen;
  Faults faults;
  for (const std::string_view part : split(text)) try {
      chosen.push_back(names(part));
    } catch (const ConfigError& e) {
      faults.add(fmt::format("--columns: {}", e.what()));
    }
  faults.raise();
  return chosen;
}

Listing listing(const std::vector<Columns>& trials, const std::vector<std::string>& names) {
  Listing all{"trials", {names}, nlohmann::ordered_json::array()};
  for (const Columns& trial : trials) {
    std::vector<std::string> row;
    auto object = nlohmann::ordered_json::object();
    for (const std::string& name : names) {
      row.push_back(trial.contains(name) ? shown(trial, name) : "-");
      object[name] = trial.contains(name) ? json_of(trial.at(name)) : nullptr;
    }
    all.rows.push_back(std::move(row));
    all.json.push_back(std::move(object));
  }
  return all;
}

int run(const CommandLine& line) {
  const Keys keys = all_keys();
  const ResultsFolder results(line.operands[0]);
  std::vector<Columns> trials;
  for (const TrialRecord& trial : results.store.read_all()) trials.push_back(columns(trial));
  const ColumnNames names(keys, trials);
  if (line.has("where")) {
    const auto holds = filter(line.text("where"), names);
    std::erase_if(trials, [&](const Columns& trial) { return !holds(trial); });
  }
  show(listing(trials, line.has("columns") ? chosen_columns(line.text("columns"), names)
                                           : usual_columns(keys, results.plan, trials)),
       line);
  return exit_code(results);
}

}  // namespace

Command list_command() {
  return {
      .name = "list",
      .operands = "DIR",
      .help = "the trials of a folder, one line each",
      .details =
          "Columns: id, status, message, keys, seconds, parameters, provenance.NAME, test_TABLE, and\n"
          "best_TABLE and last_TABLE of all epochs, with @0.5 for another relative length.\n"
          "EXPR: conditions COLUMN OP VALUE joined by and, or (and binds tighter), in parentheses as "
          "needed;\n"
          "OP is one of = != < <= > >=; words, lists and ids (a beginning is enough) have = and != alone;\n"
          "a value with blanks stands in quotes. A trial without a value fulfils != alone.\n"
          "Without --columns: the sweep's axes and what was reached.",
      .example = "headlab list results/demo --where 'model.architecture = nap and lr < 0.01'",
      .fewest = 1,
      .most = 1,
      .options = {{"where", "EXPR", "those that fulfil it, as: status = done and (lr < 0.01 or seed != 0)"},
                  {"columns", "A,B", "these columns"},
                  json_option()},
      .run = run};
}

}  // namespace headlab
