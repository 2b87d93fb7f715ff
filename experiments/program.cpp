#include <algorithm>
#include <ranges>
#include <system_error>

#include "core/base/processor.hpp"
#include "core/base/text.hpp"
#include "core/base/version.hpp"
#include "core/dnn/pins.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/sealed_file.hpp"
#include "experiments/command.hpp"
#include "experiments/configuration.hpp"
#include "experiments/console.hpp"

namespace headlab {
namespace {

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      train_command(), trace_command(),         sweep_command(),    status_command(),
      list_command(),  show_command(),          merge_command(),    models_command(),
      tasks_command(), keys_command(),          sample_command(),   analytic_command(),
      bench_command(), reparametrize_command(), spectrum_command(), worker_command()};
  return table;
}

std::string main_page() {
  std::vector<std::vector<std::string>> rows;
  for (const Command& c : commands())
    if (!c.hidden) rows.push_back({"  " + c.name, c.help});
  return fmt::format(R"(usage: headlab COMMAND ...
Trains small attention models on synthetic tasks, thousands of them.

{}
  --help, and --help after a command; --version

exit codes: 0 all done, 1 some trials failed, 2 wrong usage or configuration (nothing was run),
  3 results damaged or in conflict (another process writes there), 75 stopped early (run again to go on),
  129 hung up, 130 interrupted, 143 terminated
example: headlab train --task.name mode --model.architecture nap --model.dim 16
)",
                     console::table(rows, console::width()));
}

std::string help(const Command& command) {
  std::vector<std::vector<std::string>> rows;
  for (const Option& o : command.options) rows.push_back({"  " + o.spelt(), o.help});
  if (command.keys) rows.push_back({"  --KEY VALUE", "a key of the configuration, see headlab keys"});
  return fmt::format("usage: headlab {} {}\n{}\n{}{}\n{}\nexample: {}\n", command.name, command.operands,
                     command.help, command.details, command.details.empty() ? "" : "\n",
                     console::table(rows, console::width()), command.example);
}

std::string version() {
  const Build b = build();
  const dnn::Settings oneDNN = dnn::settings();
  return console::table(
      {{"headlab", std::string(b.version)},
       {"commit", fmt::format("{}{}", b.commit.empty() ? "unknown" : b.commit, b.dirty ? ", modified" : "")},
       {"oneDNN", fmt::format("{}, {}", oneDNN.version, oneDNN.instructions)},
       {"HDF5", hdf5::library_version()},
       {"compiler", std::string(b.compiler)},
       {"instructions", std::string(to_string(instruction_set()))}},
      console::width());
}

const Command& command(const std::string& name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  if (found != commands().end()) return *found;
  std::vector<std::string_view> names;
  for (const Command& c : commands())
    if (!c.hidden) names.push_back(c.name);
  throw ConfigError(fmt::format("{}: not a command{}", visible(name), hint(name, names)));
}

void check_operands(const Command& command, CommandLine& line) {
  const std::size_t given = line.operands.size();
  if (given >= command.fewest && given <= command.most) return;
  line.keys.faults.push_back(fmt::format(
      "{}: wants {}, was given {}", command.name, command.operands.empty() ? "no words" : command.operands,
      given == 0 ? "none" : fmt::format("{}", fmt::join(line.operands, " "))));
  line.operands.resize(std::min(given, command.most));
}

int run(const Command& command, const std::vector<std::string>& words) {  // without the command's name
  std::vector<Option> options = command.options;
  options.push_back({"help,h", "", "this text"});
  CommandLine line = parse(words, options, command.keys ? all_keys() : Keys{});
  line.words.insert(line.words.begin(), command.name);
  if (line.has("help")) return console::write(help(command)), done;
  check_operands(command, line);
  if (!command.keys) line.raise();
  return command.run(line);
}

int run(const std::vector<std::string>& words) {
  dnn::pin(instruction_set());
  if (words.empty()) return console::tell(main_page()), wrong_usage;
  if (words[0] == "--help" || words[0] == "-h") return console::write(main_page()), done;
  if (words[0] == "--version") return console::write(version()), done;
  return run(command(words[0]), {words.begin() + 1, words.end()});
}

}  // namespace

int run_program(const std::vector<std::string>& words) try {
  return run(words);
} catch (const console::Closed&) {
  return done;
} catch (const ConfigError& e) {
  return console::errors(e.what()), wrong_usage;
} catch (const DamagedError& e) {
  return console::errors(e.what()), damaged;
} catch (const std::system_error& e) {
  return console::errors(e.what()), no_space(e.code()) ? stopped_early : trials_failed;
} catch (const std::exception& e) {
  return console::errors(e.what()), trials_failed;
}

}  // namespace headlab
