#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace headlab {

/// Which trial is next: those of the order, then, one at a time with nothing beside it, suspects: trials
/// whose worker has crashed, since what kills it may be the memory that it, or its neighbours, take.
class Schedule {
 public:
  Schedule(std::vector<std::size_t> order, std::vector<std::size_t> suspects)
      : order_(order.begin(), order.end()), suspects_(suspects.begin(), suspects.end()) {}

  /// The first that fits, taken out; none if there is none, or if suspects must wait for the `running` ones.
  std::optional<std::size_t> next(std::int64_t running, const std::function<bool(std::size_t)>& fits) {
    if (!order_.empty()) return taken(order_, fits);
    return running == 0 ? taken(suspects_, fits) : std::nullopt;
  }
  void add(std::size_t trial) { order_.push_back(trial); }
  void suspect(std::size_t trial) { suspects_.push_back(trial); }

 private:
  using Queue = std::deque<std::size_t>;
  static std::optional<std::size_t> taken(Queue& queue, const std::function<bool(std::size_t)>& fits) {
    const auto found = std::ranges::find_if(queue, fits);
    if (found == queue.end()) return {};
    const std::size_t trial = *found;
    queue.erase(found);
    return trial;
  }
  Queue order_, suspects_;
};

}  // namespace headlab
