#include "core/tasks/task.hpp"
#include "experiments/command.hpp"
#include "experiments/listing.hpp"

namespace headlab {
namespace {

int run(const CommandLine& line) {
  Listing all{"tasks", {}, nlohmann::ordered_json::array()};
  const auto names = split(words(TaskName{}));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Task& t = task(static_cast<TaskName>(i));
    all.rows.push_back({std::string(names[i]), fmt::format("{} [{}]", t.help, t.source)});
    all.json.push_back({{"name", names[i]}, {"help", t.help}, {"source", t.source}, {"cases", t.cases}});
  }
  return show(all, line), done;
}

}  // namespace

Command tasks_command() {
  return {.name = "tasks",
          .operands = "",
          .help = "the tasks, values of task.name",
          .example = "headlab tasks",
          .options = {json_option()},
          .run = run};
}

}  // namespace headlab
