#pragma once
#include <functional>
#include <utility>

#include "core/config/config.hpp"

namespace headlab {

/// How long trials take: so many times longer than usual as those whose time is known did together.
class Pace {
 public:
  using Usual = std::function<double(const Config&)>;
  /// `usual`: seconds that a trial would take; only ratios count once one is known.
  explicit Pace(Usual usual) : usual_(std::move(usual)) {}

  void add(const Config& config, double seconds) { add_usual(usual_(config), seconds); }
  /// Of a trial, or the part of one, that usually takes so long.
  void add_usual(double usual, double seconds) {
    if (!(seconds > 0)) return;
    sum_usual_ += usual;
    sum_seconds_ += seconds;
  }
  double usual(const Config& config) const { return usual_(config); }
  double seconds(const Config& config) const { return usual_(config) * factor(); }
  double factor() const { return is_known() ? sum_seconds_ / sum_usual_ : 1; }
  bool is_known() const { return sum_usual_ > 0; }
  /// The same without what is known.
  Pace anew() const { return Pace(usual_); }

 private:
  Usual usual_;
  double sum_usual_ = 0, sum_seconds_ = 0;
};

}  // namespace headlab
