#pragma once
// Sweeps in processes of their own: this binary, run with the words `supervisor FOLDER WORKERS AXES SCENARIO
// ARGUMENT...`.
#include <fmt/format.h>

#include "tests/support/process.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {

/// What such a process does: `words` are those after `supervisor`. Its code is that of the sweep.
inline int run_supervisor(const std::vector<std::string>& words) {
  Store store(words.at(0));
  std::vector<std::string> worker{"headlab_tests", "worker"};
  worker.insert(worker.end(), words.begin() + 3, words.end());
  const RunResult r =
      run(core_only(), plan_of(words.at(2)), store, sample_options(worker, std::stoi(words.at(1))));
  for (const std::string& fault : r.faults) fmt::print(stderr, "{}\n", fault);
  return r.exit_code;
}

class Supervisor : public Process {
 public:
  /// `worker` as scenario() gives it.
  Supervisor(const std::filesystem::path& folder, const std::string& axes,
             const std::vector<std::string>& worker, int workers = 1)
      : Process("/proc/self/exe", all_words(folder, axes, worker, workers)) {}

 private:
  static std::vector<std::string> all_words(const std::filesystem::path& folder, const std::string& axes,
                                            const std::vector<std::string>& worker, int workers) {
    std::vector<std::string> words{"headlab_tests", "supervisor", folder, std::to_string(workers), axes};
    words.insert(words.end(), worker.begin() + 2, worker.end());
    return words;
  }
};

}  // namespace headlab::test
