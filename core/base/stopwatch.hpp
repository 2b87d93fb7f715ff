#pragma once
#include <chrono>
#include <ctime>

namespace headlab {

/// The calling thread's processor time: stands still while others have the processor.
struct ProcessorClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ProcessorClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }
};

/// Adds the time of a scope to a sum of seconds.
template <class Clock>
class BasicStopwatch {
 public:
  explicit BasicStopwatch(double& seconds) : seconds_(seconds) {}
  BasicStopwatch(const BasicStopwatch&) = delete;
  BasicStopwatch& operator=(const BasicStopwatch&) = delete;
  ~BasicStopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

using Stopwatch = BasicStopwatch<std::chrono::steady_clock>;
using ProcessorStopwatch = BasicStopwatch<ProcessorClock>;

}  // namespace headlab
