// Tokens and labels are a user's own, rows of a SequenceTable. A training sequence is a uniform draw from the
// rows of training; validation and test are their rows, or so many of them at even distances.
#include "core/tasks/file.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/tasks/task.hpp"

namespace headlab {
namespace {

bool elsewhere(const Config& c) { return c.task.name != TaskName::file; }
bool read_as_positions(const Config& c) {
  return c.task.readout == Readout::across_tokens && !c.task.table->every_token();
}

const SequenceTable& table(const Config& c) {
  require(c.task.table != nullptr, "task.file: must be given with task.name = file");
  return *c.task.table;
}

Form form(const Config& c) {
  const SequenceTable& t = table(c);
  if (t.every_token()) return {c.task.vocabulary, c.task.positions, Answer::every_token, t.classes, false};
  if (read_as_positions(c)) return {c.task.vocabulary, c.task.positions, Answer::across_tokens, 1, true};
  return {c.task.vocabulary, c.task.positions, Answer::first_token, t.classes, false};
}

const std::vector<std::int64_t>& rows_of(const SequenceTable& t, Purpose purpose) {
  return t.parts.at(purpose == Purpose::training ? 0 : purpose == Purpose::validation ? 1 : 2);
}

void fill(const Config& c, Purpose purpose, std::uint64_t step, Sequences& out) {
  const SequenceTable& t = table(c);
  const std::vector<std::int64_t>& rows = rows_of(t, purpose);
  const bool training = purpose == Purpose::training;
  if (!training) out.count = std::min(out.count, std::ssize(rows));
  const auto count = static_cast<std::size_t>(out.count), N = static_cast<std::size_t>(t.length);
  const std::size_t answers = t.every_token() ? N : 1;
  out.tokens.resize(count * N);
  out.labels.resize(count * answers);
  out.cases.clear();
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t at =
        training ? Stream(static_cast<std::uint64_t>(c.seed), purpose, step, b).below(rows.size())
                 : b * rows.size() / count;
    const auto row = static_cast<std::size_t>(rows[at]);
    std::copy_n(&t.tokens[row * N], N, &out.tokens[b * N]);
    std::copy_n(&t.labels[row * answers], answers, &out.labels[b * answers]);
  }
}

/// The share of the most frequent label, where every token answers the mean over positions.
double chance(const Config& c, bool training, std::int64_t /*length*/) {
  const SequenceTable& t = table(c);
  const std::vector<std::int64_t>& rows = t.parts.at(training ? 0 : 1);
  const std::size_t answers = t.every_token() ? static_cast<std::size_t>(t.length) : 1;
  if (rows.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::int64_t right = 0;
  for (std::size_t i = 0; i < answers; ++i) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(t.classes));
    for (const std::int64_t row : rows)
      ++counts[static_cast<std::size_t>(t.labels[static_cast<std::size_t>(row) * answers + i])];
    right += *std::ranges::max_element(counts);
  }
  return static_cast<double>(right) / static_cast<double>(answers * rows.size());
}

}  // namespace

Keys file_keys(const ReadTable& read) {
  Key place = key(HEADLAB_FIELD(task.file), "none", "HDF5 file with the datasets tokens and labels");
  place.what = "an HDF5 file";
  place.in_id = InId::never;
  place.set = [read](Config& c, std::string_view text) {
    c.task.table = text == "none" ? nullptr : read(std::string(text));
    c.task.file = text;
    return true;
  };
  place.inert_if(elsewhere)
      .must("a file, as is needed with", "task.name", [](const Config& c) { return c.task.table != nullptr; })
      .must("a file of sequences as long as", "task.length",
            [](const Config& c) { return !c.task.table || c.task.length == c.task.table->length; })
      .must("a file with tokens below", "task.vocabulary",
            [](const Config& c) { return !c.task.table || c.task.vocabulary >= c.task.table->vocabulary; })
      .must("a file of labels that are positions, as is needed with", "task.readout",
            [](const Config& c) {
              return !c.task.table || !read_as_positions(c) || c.task.table->classes <= c.task.length;
            })
      .must("a file of sequences of several lengths, as is needed with", "eval.relative_lengths",
            [](const Config& c) { return c.eval.relative_lengths == std::vector{1.}; });
  const auto digest = [](const Config& c) {
    return c.task.table ? c.task.table->sha256 : std::string("none");
  };
  Key content = key(HEADLAB_FIELD(task.file_sha256), digest, "of its bytes: found, or refused if not so");
  content.what = "64 hex digits";
  content.in_id = InId::always;
  content.inert_if(elsewhere).must("that of", "task.file", [digest](const Config& c) {
    return !c.task.table || c.task.file_sha256 == digest(c);
  });
  Key positions = key(HEADLAB_FIELD(task.positions), true, "a file's tokens have learned positions");
  return {place, content, positions.inert_if(elsewhere)};
}

extern const Task file{
    .help = "tokens and labels of a file of one's own, task.file",
    .source = "yours",
    .keys = [] { return Keys{}; },
    .form = form,
    .draw = nullptr,
    .label = nullptr,
    .cases = {},
    .counters = nullptr,
    .balanced = nullptr,
    .fill = fill,
    .chance = chance,
};

}  // namespace headlab
