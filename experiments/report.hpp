#pragma once
// What a trial measured, as lines for people.
#include <string>

#include "core/train/trainer.hpp"

namespace headlab {

/// Columns of epoch_line(), without the end of the line.
std::string epoch_header(const History& history);
/// Loss and accuracy of an epoch (0, 1, ...) and its validation accuracies; `-` where nothing was measured.
std::string epoch_line(const History& history, std::size_t epoch);

/// A line a relative length; nothing without a test.
std::string test_lines(const History& history);
/// A line a case: its share of right answers at each length after the last epoch; nothing without cases.
std::string case_lines(const History& history);

}  // namespace headlab
