#pragma once
// Folding trial files into results.h5 in a process of its own, while others train.
#include <chrono>
#include <optional>

#include "sweeps/worker_process.hpp"

namespace headlab {

/// A worker process that lives as long as its folding.
class FoldingProcess {
 public:
  /// It keeps the `lock`'s descriptor open. std::system_error if no process can be started.
  FoldingProcess(const std::vector<std::string>& words, const Greeting& greeting, Folding folding, int lock);

  const Folding& folding() const { return folding_; }
  /// What has been folded, once it is known; waits for it no longer than that. Throws what kept it from
  /// folding, RunError if the process has died.
  std::optional<Folded> wait(std::chrono::milliseconds patience);

 private:
  Folding folding_;
  WorkerProcess process_;
};

}  // namespace headlab
