#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace headlab {

enum class Status { done, diverged, failed, interrupted };

/// Balanced sets are drawn at these multiples of the task's length, rounded down.
inline constexpr std::array case_lengths{1., .5};

/// What a trial measures. Each table is row-major over the axes named beside it, and empty or whole.
struct History {
  std::vector<double> relative_length, case_length;  ///< axes, as multiples of the task's length
  std::vector<std::string> case_name;                ///< axis `case`

  std::vector<std::int64_t> step, sequences_seen;  ///< (epoch); step gives the number of epochs
  std::vector<double> train_loss, train_accuracy, learning_rate, gradient_norm;  ///< (epoch)
  std::vector<double> validation_loss, validation_accuracy;  ///< (epoch, relative_length), NaN: not evaluated
  std::vector<double> test_loss, test_accuracy;              ///< (relative_length)
  std::vector<std::int32_t> case_correct, case_total;  ///< (epoch, case_length, case), -1: not evaluated
};

}  // namespace headlab
