#pragma once
// Worker threads that run trials; what they finish is fetched by the one thread that does all HDF5.
#include <chrono>
#include <memory>
#include <optional>

#include "sweeps/runner.hpp"

namespace headlab {

struct Finished {
  std::size_t trial;  ///< in plan.trials
  TrialRecord record;
};

class Crew {
 public:
  /// Starts running the trials of `order`. All arguments outlive the crew.
  Crew(const Keys& keys, const SweepPlan& plan, std::vector<std::size_t> order, const RunOptions& options);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();  ///< stops and waits

  /// The next finished trial, or nothing if none came in time or none will.
  std::optional<Finished> next(std::chrono::milliseconds patience);
  /// Whether next() can still give something.
  bool busy() const;
  std::int64_t running() const;
  /// No new trial begins; running ones are asked to end.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlab
