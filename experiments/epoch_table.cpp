#include "experiments/epoch_table.hpp"

#include <cmath>

#include "core/base/numbers.hpp"
#include "experiments/console.hpp"

namespace headlab {
namespace {

std::string cell(double x) { return std::isnan(x) ? "-" : fmt::format("{:.4f}", x); }

}  // namespace

std::string epoch_header(const History& history) {
  std::string line = fmt::format("{:>5}  {:>8}  {:>8}", "epoch", "loss", "accuracy");
  for (const double length : history.relative_length)
    line += fmt::format("  {:>12}", "validation@" + number(length));
  return line + fmt::format("  {:>9}  {:>8}\n", "rate", "seconds");
}

std::string epoch_line(const History& history, double seconds) {
  std::string line = fmt::format("{:>5}  {:>8}  {:>8}", history.step.size(), cell(history.train_loss.back()),
                                 cell(history.train_accuracy.back()));
  const std::size_t n = history.relative_length.size();
  for (std::size_t i = 0; i < n; ++i)
    line +=
        fmt::format("  {:>{}}", cell(history.validation_accuracy[history.validation_accuracy.size() - n + i]),
                    std::max<std::size_t>(12, 11 + number(history.relative_length[i]).size()));
  return line + fmt::format("  {:>9.3e}  {:>8.1f}\n", history.learning_rate.back(), seconds);
}

void EpochTable::epoch(const History& so_far) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
  if (so_far.step.size() == 1) write(epoch_header(so_far));
  write(epoch_line(so_far, seconds.count()));
}

void EpochTable::write(const std::string& line) try {
  if (!closed_) console::write(line);
} catch (const console::Closed&) {
  closed_ = true;
}

}  // namespace headlab
