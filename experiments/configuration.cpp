#include "experiments/configuration.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/tasks/task.hpp"
#include "experiments/console.hpp"

namespace headlab {
namespace {

Source read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return {{}, {path + ": not a file that can be read"}};
  return read_toml(text.str(), path);
}

}  // namespace

Keys all_keys() {
  std::vector<Keys> tables{core_keys()};
  for (std::size_t i = 0; i < split(words(TaskName{})).size(); ++i)
    tables.push_back(task(static_cast<TaskName>(i)).keys());
  return joined(tables);
}

Resolved configuration(const CommandLine& line, const Keys& keys) {
  std::vector<Source> sources;
  for (const std::string& file : line.operands) sources.push_back(read_file(file));
  sources.push_back(line.keys);
  Resolved resolved = resolve(keys, sources);
  console::notes(resolved.notes);
  return resolved;
}

void check_output(CommandLine& line, const std::string& option) {
  if (!line.has(option)) return;
  const std::string file = line.text(option);
  std::error_code unknown;  // is no fault yet
  if (file.empty() || std::filesystem::is_directory(file, unknown))
    line.keys.faults.push_back(fmt::format("--{}: {} is not a file's name", option, file));
  else if (std::filesystem::exists(file, unknown) && !line.has("force"))
    line.keys.faults.push_back(fmt::format("--{}: {} is there already; --force overwrites it", option, file));
}

}  // namespace headlab
