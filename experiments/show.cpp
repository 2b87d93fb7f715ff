#include "experiments/command.hpp"
#include "experiments/listing.hpp"
#include "experiments/report.hpp"
#include "experiments/stored.hpp"
#include "sweeps/selection.hpp"

namespace headlab {
namespace {

std::string text_of(const hdf5::Values& values) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : values) rows.push_back({name, text(value)});
  return console::table(rows, console::width());
}

std::string text_of(const TrialRecord& t) {
  std::string out = fmt::format("trial {}: {}{}\n\n{}\n", t.id, to_string(t.status),
                                t.message.empty() ? "" : ", " + t.message, t.configuration);
  if (!t.step.empty()) out += epoch_header(t) + "\n";
  for (std::size_t e = 0; e < t.step.size(); ++e) out += epoch_line(t, e) + "\n";
  return out + test_lines(t) + case_lines(t) + "\n" + text_of(t.facts) + "\n" + text_of(t.provenance);
}

nlohmann::ordered_json everything(const TrialRecord& t) {
  nlohmann::ordered_json all{{"id", t.id},
                             {"status", to_string(t.status)},
                             {"message", t.message},
                             {"config", json_of(t.config)},
                             {"facts", json_of(t.facts)},
                             {"provenance", json_of(t.provenance)},
                             {"relative_length", t.relative_length},
                             {"case_length", t.case_length},
                             {"case", t.case_name}};
  for (const Field& field : fields())
    all[field.name] = std::visit([&](auto table) { return nlohmann::ordered_json(t.*table); }, field.table);
  return all;
}

/// Of the stored trials and of those whose files are damaged.
std::vector<std::string> ids_of(const Store& store) {
  std::vector<std::string> ids;
  for (const auto& [id, known] : store.trials()) ids.push_back(id);
  for (const auto& [id, fault] : store.damaged_ids())
    if (store.find(id) == nullptr) ids.push_back(id);
  return ids;
}

int run(const CommandLine& line) {
  const Store store = open_store(line.operands[0]);
  const std::string id = full_id(line.operands[1], ids_of(store));
  if (store.find(id) == nullptr) throw DamagedError(store.damaged_ids().at(id));
  const TrialRecord trial = store.read(id);
  if (line.has("json"))
    show({"trial", {}, everything(trial)}, line);
  else
    console::write(text_of(trial));
  if (!store.is_damaged(id)) return done;
  console::errors(store.damaged_ids().at(id));
  return damaged;
}

}  // namespace

Command show_command() {
  return {.name = "show",
          .operands = "DIR ID",
          .help = "all that is known of a trial",
          .details = "ID may be shortened as long as one trial's begins so.",
          .example = "headlab show results/demo 3f2a",
          .fewest = 2,
          .most = 2,
          .options = {json_option()},
          .run = run};
}

}  // namespace headlab
