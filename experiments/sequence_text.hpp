#pragma once
#include <string>

#include "core/config/key.hpp"
#include "core/tasks/task.hpp"

namespace headlab {

/// The cases (Task::cases) in which a sequence counts.
std::vector<std::string> cases_of(const Config& config, ConstTokens tokens);

/// A line that says what the marks in sequence_text mean for this task.
std::string marks_text(const Keys& keys, const Config& config);

/// Sequence b with its cases and its answer. Tokens stand in rows that fit `width` columns, each behind the
/// position of its first: [64] announces a case, (3) is what the answer names, {50} both. Of more than
/// most_rows rows those are left out, and their tokens counted, that hold neither end of the sequence nor
/// what decides: the first of each token that announces, and the position that is the answer. Width 0: all
/// tokens in one row.
std::string sequence_text(const Keys& keys, const Config& config, const Sequences& sequences, std::size_t b,
                          std::size_t width);
constexpr std::size_t most_rows = 13;

}  // namespace headlab
