#pragma once
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/child.hpp"

namespace headlab::test {

/// A specification whose trials train for moments; `base`: further lines of [base].
inline std::string tiny_specification(const std::string& base, const std::string& grid = "",
                                      const std::string& head = "name = \"try\"\n") {
  return head + R"([base]
task.name = "mode"
task.length = 8
model.dim = 8
model.heads = 2
train.batch = 4
eval.sequences = 8
eval.test_sequences = 8
)" + base +
         (grid.empty() ? "" : "[grid]\n" + grid);
}

/// Commands in a folder with such a specification, a.toml, whose sweeps are in the folder `run`.
struct TinySweep : testing::Test {
  TemporaryFolder folder;

  void specify(const std::string& base, const std::string& grid = "") const {
    std::ofstream(folder.path / "a.toml") << tiny_specification(base, grid);
  }
  Ended run(const std::string& command) const { return shell(command, folder.path); }
  nlohmann::json status() const {
    return nlohmann::json::parse(run("$HEADLAB status run --json").out).at("status");
  }
};

}  // namespace headlab::test
