#pragma once
#include <cmath>
#include <functional>

#include "core/config/config.hpp"

namespace headlab {

/// How long trials take: so many times longer than usual as those whose time is known did together.
class Pace {
 public:
  using Usual = std::function<double(const Config&)>;
  /// `usual`: seconds that a trial would take; only ratios count once one is known.
  explicit Pace(Usual usual) : usual_(std::move(usual)) {}

  void add(const Config& config, double seconds) {
    if (!(seconds > 0)) return;
    sum_usual_ += usual_(config);
    sum_seconds_ += seconds;
  }
  double seconds(const Config& config) const {
    return usual_(config) * (sum_usual_ > 0 ? sum_seconds_ / sum_usual_ : 1);
  }

 private:
  Usual usual_;
  double sum_usual_ = 0, sum_seconds_ = 0;
};

}  // namespace headlab
