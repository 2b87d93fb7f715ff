#pragma once
#include <algorithm>
#include <functional>
#include <utility>

namespace headlab {

/// Seconds for which this process was not stopped (^Z), as far as it looks often: of the time between two
/// looks no more than `longest` counts.
class AwakeTime {
 public:
  /// `now` gives seconds since some moment and never goes back.
  explicit AwakeTime(std::function<double()> now, double longest = 1)
      : now_(std::move(now)), longest_(longest), last_(now_()) {}

  double look() {
    const double now = now_();
    awake_ += std::min(now - last_, longest_);
    last_ = now;
    return awake_;
  }

 private:
  std::function<double()> now_;
  double longest_, last_, awake_ = 0;
};

}  // namespace headlab
