#pragma once
#include <chrono>

#include "core/train/trainer.hpp"

namespace headlab {

/// Prints a line an epoch, and a header before the first; `-` where nothing was measured.
class EpochTable : public Sink {
 public:
  /// `alone`: nothing else is left of the trial, so that it stops when nobody reads on.
  explicit EpochTable(bool alone) : alone_(alone) {}

  void epoch(const History& so_far) override;
  bool stop() override { return alone_ && closed_; }

 private:
  void write(const std::string& line);

  bool alone_, closed_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The header, and the line of the last epoch, `seconds` after the start.
std::string epoch_header(const History& history);
std::string epoch_line(const History& history, double seconds);

}  // namespace headlab
