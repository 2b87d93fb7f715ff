#pragma once
// What trials do in workers that tests start: this binary, run with the words `worker NAME ARGUMENT...`.
#include <string>
#include <vector>

namespace headlab::test {

/// The words with which a worker of this binary runs a scenario.
template <class... A>
std::vector<std::string> scenario(const std::string& name, const A&... arguments) {
  return {"headlab_tests", "worker", name, std::string(arguments)...};
}

/// What such a process does: `words` are those after `worker`.
int run_scenario(const std::vector<std::string>& words);

}  // namespace headlab::test
