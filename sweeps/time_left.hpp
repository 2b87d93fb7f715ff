#pragma once
#include <cmath>
#include <map>
#include <set>

#include "sweeps/pace.hpp"

namespace headlab {

/// How long a sweep will still take, from how long its trials did. Trials are positions in the plan; moments
/// are seconds on one clock.
class TimeLeft {
 public:
  /// `pace` gives what trials usually take and knows of none yet.
  explicit TimeLeft(Pace pace) : pace_(std::move(pace)) {}

  /// A trial of which such a share is to be run waits for it.
  void expect(std::size_t trial, const Config& config, double share = 1);
  void begin(std::size_t trial, double now);
  /// It is done, and tells of the pace of others.
  void finish(std::size_t trial, double now);
  /// It has ended otherwise, or elsewhere, and tells nothing.
  void drop(std::size_t trial);

  /// NaN while no trial is done. With so many trials at a time: all work shared out evenly, or the longest
  /// trial, if that is longer.
  double seconds(double now, std::int64_t side_by_side) const;

 private:
  struct Running {
    double usual, start;
  };
  void stop_waiting(std::size_t trial);

  Pace pace_;
  std::map<std::size_t, double> usual_{};  ///< of waiting and running trials
  std::map<std::size_t, Running> running_{};
  std::multiset<double> waiting_{};  ///< what they usually take
  double sum_waiting_ = 0;
};

}  // namespace headlab
