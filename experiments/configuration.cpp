#include "experiments/configuration.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/text.hpp"
#include "core/log/atomic_file.hpp"
#include "core/log/sequence_file.hpp"
#include "core/tasks/file.hpp"
#include "core/tasks/task.hpp"
#include "experiments/console.hpp"

namespace headlab {
namespace {

/// Whether a file can be made there; folders that are missing will be.
bool can_be_written(const std::filesystem::path& file) try {
  std::filesystem::path folder = absolute(followed(file)).parent_path();
  std::error_code unknown;
  while (!exists(folder, unknown) && folder.has_relative_path()) folder = folder.parent_path();
  const std::filesystem::path trial = folder / fmt::format("headlab.{}.tmp", ::getpid());
  const bool made = std::ofstream(trial).good();
  std::filesystem::remove(trial, unknown);
  return made;
} catch (const std::system_error&) {
  return false;
}

}  // namespace

Keys all_keys() {
  std::vector<Keys> tables{core_keys(), file_keys(sequence_files())};
  for (std::size_t i = 0; i < split(words(TaskName{})).size(); ++i)
    tables.push_back(task(static_cast<TaskName>(i)).keys());
  return joined(tables);
}

Source read_file(const std::string& path) {
  std::ifstream in(path);
  std::error_code unknown;
  if (!in || std::filesystem::is_directory(path, unknown))
    return {{}, {visible(path) + ": not a file that can be read"}};
  std::ostringstream text;
  text << in.rdbuf();
  return read_toml(text.str(), path);
}

Resolved configuration(const CommandLine& line, const Keys& keys, const Source& first) {
  std::vector<Source> sources{first};
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
  const auto there = std::filesystem::status(file, unknown);
  if (file.empty() || (exists(there) && !is_regular_file(there)))
    line.keys.faults.push_back(fmt::format("--{}: {} is not a file's name", option, visible(file)));
  else if (exists(there) && !line.has("force"))
    line.keys.faults.push_back(fmt::format("--{}: {} is there already; --force overwrites it", option, file));
  else if (!can_be_written(file))
    line.keys.faults.push_back(fmt::format("--{}: {} cannot be written", option, file));
}

}  // namespace headlab
