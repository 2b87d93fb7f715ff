#include "sweeps/time_left.hpp"

#include <algorithm>

namespace headlab {

void TimeLeft::expect(std::size_t trial, const Config& config, double share) {
  const double usual = share * pace_.usual(config);
  usual_[trial] = usual;
  waiting_.insert(usual);
  sum_waiting_ += usual;
}

void TimeLeft::stop_waiting(std::size_t trial) {
  const double usual = usual_.at(trial);
  waiting_.erase(waiting_.find(usual));
  sum_waiting_ = waiting_.empty() ? 0 : sum_waiting_ - usual;
}

void TimeLeft::begin(std::size_t trial, double now) {
  stop_waiting(trial);
  running_[trial] = {usual_.at(trial), now};
}

void TimeLeft::finish(std::size_t trial, double now) {
  const Running& r = running_.at(trial);
  pace_.add_usual(r.usual, now - r.start);
  drop(trial);
}

void TimeLeft::drop(std::size_t trial) {
  if (running_.erase(trial) == 0) stop_waiting(trial);
  usual_.erase(trial);
}

double TimeLeft::seconds(double now, std::int64_t side_by_side) const {
  if (!pace_.is_known()) return std::nan("");
  double work = pace_.factor() * sum_waiting_;
  double longest = waiting_.empty() ? 0 : pace_.factor() * *waiting_.rbegin();
  for (const auto& [trial, r] : running_) {
    const double left = std::max(pace_.factor() * r.usual - (now - r.start), 0.);
    work += left;
    longest = std::max(longest, left);
  }
  const auto trials = std::ssize(usual_);
  return std::max(longest, work / static_cast<double>(std::clamp<std::int64_t>(
                                      side_by_side, 1, std::max<std::int64_t>(trials, 1))));
}

}  // namespace headlab
