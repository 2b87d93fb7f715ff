// Sweeps on a simulated clock.
#include "sweeps/time_left.hpp"

#include <gtest/gtest.h>

#include <random>

#include "sweeps/progress.hpp"

namespace headlab::test {
namespace {

Config of_dim(std::int64_t dim) {
  Config c;
  c.model.dim = dim;
  return c;
}
Pace by_dim() {
  return Pace([](const Config& c) { return static_cast<double>(c.model.dim); });
}

struct Simulated {
  std::int64_t dim;
  double seconds, start = 0;
};

/// Trials in this order, side by side on so many workers, and what the live line says of them.
class SimulatedSweep {
 public:
  SimulatedSweep(std::vector<Simulated> trials, std::size_t workers)
      : trials_(std::move(trials)), workers_(workers) {
    for (std::size_t i = 0; i < trials_.size(); ++i) left_.expect(i, of_dim(trials_[i].dim));
    hand_out();
  }

  /// Until the next trial ends; false if none runs.
  bool step() {
    if (running_.empty()) return false;
    now_ = running_.begin()->first;
    left_.finish(running_.begin()->second, now_);
    running_.erase(running_.begin());
    ++done_;
    hand_out();
    return true;
  }
  double now() const { return now_; }
  double left(double later = 0) const {
    return left_.seconds(now_ + later, static_cast<std::int64_t>(workers_));
  }
  std::string line(double later) const {
    const auto n = std::ssize(trials_);
    return progress_line({.planned = n,
                          .done = done_,
                          .running = std::ssize(running_),
                          .ran = done_,
                          .seconds_left = left(later)},
                         now_ + later);
  }

 private:
  void hand_out() {
    for (; running_.size() < workers_ && next_ < trials_.size(); ++next_) {
      running_.emplace(now_ + trials_[next_].seconds, next_);
      left_.begin(next_, now_);
    }
  }
  std::vector<Simulated> trials_;
  std::size_t workers_, next_ = 0;
  std::int64_t done_ = 0;
  double now_ = 0;
  std::multimap<double, std::size_t> running_{};  ///< by end
  TimeLeft left_{by_dim()};
};

/// Seeds of a grid, the longest first within each; `usual` seconds a unit of dim, more or less by a share.
std::vector<Simulated> grid(int seeds, double usual, double spread) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<double> factor(1 - spread, 1 + spread);
  std::vector<Simulated> all;
  for (int seed = 0; seed < seeds; ++seed)
    for (const std::int64_t dim : {512, 256, 256, 128, 64, 64, 32, 8})
      all.push_back({dim, usual * static_cast<double>(dim) * factor(rng)});
  return all;
}

TEST(TimeLeft, IsRightFromTheFirstTrialThatIsDone) {
  for (const std::size_t workers : {1U, 4U, 13U}) {
    const auto trials = grid(25, 3, .3);
    SimulatedSweep whole(trials, workers), sweep(trials, workers);
    EXPECT_TRUE(std::isnan(sweep.left()));
    while (whole.step()) {
    }
    const double longest = 3 * 512 * 1.3;
    while (sweep.step()) {
      const double truth = whole.now() - sweep.now();
      EXPECT_NEAR(sweep.left(), truth, .35 * truth / std::sqrt(double(1 + sweep.now() / longest)) + longest)
          << workers << " at " << sweep.now();
      EXPECT_LE(sweep.left(1), sweep.left()) << "it goes on between two ends";
    }
    EXPECT_EQ(sweep.left(), 0);
  }
}

TEST(TimeLeft, IsExactForTrialsThatTakeWhatTheyUsuallyDo) {
  SimulatedSweep sweep(std::vector<Simulated>(10, {8, 60}), 1);
  EXPECT_EQ(sweep.line(30), "0 of 10 done, 1 running");
  for (int i = 0; i < 3; ++i) sweep.step();
  EXPECT_EQ(sweep.left(30), 6.5 * 60);
  EXPECT_EQ(sweep.line(30), "3 of 10 done, 1 running, 51 models an hour, 7 min left");
  EXPECT_EQ(sweep.left(90), 6 * 60) << "late, and no less than the others";
  for (int i = 0; i < 6; ++i) sweep.step();
  EXPECT_EQ(sweep.line(59), "9 of 10 done, 1 running, 54 models an hour, 1 s left");
  sweep.step();
  EXPECT_EQ(sweep.line(0), "10 of 10 done, 60 models an hour");
}

TEST(TimeLeft, IsNoLessThanTheLongestTrialTakes) {
  SimulatedSweep sweep({{8, 8}, {512, 512}, {8, 8}, {8, 8}}, 100);
  sweep.step();
  EXPECT_EQ(sweep.left(), 504);
}

TEST(TimeLeft, CountsOfATrialThatGoesOnWhatIsLeftOfIt) {
  TimeLeft left(by_dim());
  left.expect(0, of_dim(10));
  left.expect(1, of_dim(1000), .01);
  left.expect(2, of_dim(10));
  left.begin(1, 0);
  left.finish(1, 20);  // 1% of a trial of dim 1000, at 2 seconds a unit
  EXPECT_EQ(left.seconds(20, 1), 40);
  left.begin(0, 20);
  left.drop(0);
  left.expect(0, of_dim(10), .5);
  left.drop(2);
  EXPECT_EQ(left.seconds(30, 1), 10);
  left.drop(0);
  EXPECT_EQ(left.seconds(30, 1), 0);
}

}  // namespace
}  // namespace headlab::test
