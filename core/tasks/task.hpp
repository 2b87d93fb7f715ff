#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "core/config/form.hpp"
#include "core/config/key.hpp"

namespace headlab {

using Tokens = std::span<std::int32_t>;
using ConstTokens = std::span<const std::int32_t>;

/// Labelled sequences, B of N tokens.
struct Sequences {
  std::int64_t count{}, length{};
  std::vector<std::int32_t> tokens;  ///< (B, N)
  std::vector<std::int32_t> labels;  ///< (B), or (B, N) where every token answers; of several answers
                                     ///< (..., answers)
  std::vector<std::uint32_t>
      cases;  ///< (B), of a balanced set: bit k is set if the sequence counts in case k
};

/// One row of the table, one file each: all that is known of a task. Functions are pure.
struct Task {
  std::string_view help, source;
  Keys (*keys)();  ///< the task's own, beside core_keys()
  Form (*form)(const Config&);
  /// One training sequence (case_bias applies) or, for `biased` false, one of validation and test.
  void (*draw)(const Config&, bool biased, Stream&, Tokens);
  /// Writes (form.answer == every_token ? N : 1) form.answers labels.
  void (*label)(const Config&, ConstTokens, Tokens labels);
  std::vector<std::string> cases;  ///< names of the counters over a balanced set; none: no such set
  /// The counters in which a sequence counts, as bits; null if there are none.
  std::uint32_t (*counters)(const Config&, ConstTokens) = nullptr;
  /// `eval.case_sequences` sequences, equally many a case, at a length; labels and cases filled.
  Sequences (*balanced)(const Config&, std::int64_t length);
  /// Instead of draw and label, where labels are no function of tokens; may lower the count of validation and
  /// test.
  void (*fill)(const Config&, Purpose, std::uint64_t step, Sequences&) = nullptr;
  /// Accuracy over draw(..., biased, ...) of the best answer that is the same for all sequences, exact.
  /// Where every token answers, an answer is a label for each position.
  double (*chance)(const Config&, bool biased, std::int64_t length);
};

const Task& task(TaskName name);

/// Sequences 0 .. count - 1 of a purpose; each depends on (seed, task's keys, purpose, step, its number)
/// only. Validation and test take their length as `step`.
Sequences sequences(const Config& config, Purpose purpose, std::uint64_t step, std::int64_t count,
                    std::int64_t length);

/// The same, `out.count` of `out.length` tokens, into memory that is used again.
void sequences(const Config& config, Purpose purpose, std::uint64_t step, Sequences& out);

/// The same, drawn otherwise: sequence b is what `draw` makes of Stream(seed, purpose, step, b).
void sequences(const Config& config, Purpose purpose, std::uint64_t step, Sequences& out,
               const std::function<void(Stream&, Tokens)>& draw);

}  // namespace headlab
