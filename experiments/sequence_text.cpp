#include "experiments/sequence_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "core/config/keys.hpp"

namespace headlab {
namespace {

/// The tokens that announce a case, by the keys that change something in this configuration.
std::vector<std::int32_t> announcing(const Keys& keys, const Config& config) {
  std::vector<std::int32_t> tokens;
  for (const auto& [name, token] : {std::pair("task.argmin_token", config.task.argmin_token),
                                    std::pair("task.first_token", config.task.first_token)})
    if (!find(keys, name)->inert(config)) tokens.push_back(static_cast<std::int32_t>(token));
  return tokens;
}

/// One sequence, and what of it decides.
struct Shown {
  ConstTokens tokens, labels;
  Form form;
  std::vector<std::int32_t> announce;
  std::optional<std::int32_t> answer;  ///< unless tokens answer differently
  bool of_tokens;                      ///< answers are kinds of tokens

  bool announces(std::size_t i) const { return std::ranges::count(announce, tokens[i]) > 0; }
  bool answers(std::size_t i) const {
    if (form.of_positions) return answer == static_cast<std::int32_t>(i);
    return of_tokens && answer == tokens[i];
  }
  bool decides(std::size_t i) const {
    if (form.of_positions && answers(i)) return true;
    return announces(i) && std::ranges::find(tokens, tokens[i]) == tokens.begin() + std::ptrdiff_t(i);
  }
};

/// Answers are positions, or kinds of tokens, or what a file says.
bool answers_are_tokens(const Config& config, const Form& form) {
  return !form.of_positions && config.task.name != TaskName::file;
}

Shown shown(const Keys& keys, const Config& config, const Sequences& sequences, std::size_t b) {
  const auto length = static_cast<std::size_t>(sequences.length);
  const std::size_t answers = sequences.labels.size() / static_cast<std::size_t>(sequences.count);
  const auto labels = ConstTokens(sequences.labels).subspan(b * answers, answers);
  const bool same = std::ranges::count(labels, labels[0]) == std::ssize(labels);
  const Form form = task(config.task.name).form(config);
  return {ConstTokens(sequences.tokens).subspan(b * length, length),
          labels,
          form,
          announcing(keys, config),
          same ? std::optional(labels[0]) : std::nullopt,
          answers_are_tokens(config, form)};
}

/// Of tokens that are pairs: `key:value` each, and below it what it answers.
std::string pairs_text(const Shown& s, std::size_t width) {
  const auto answers = static_cast<std::size_t>(s.form.answers);
  const std::size_t column = fmt::formatted_size("{}:{}", s.tokens.size() - 1, s.form.values - 1) + 2;
  const std::size_t first = fmt::formatted_size("answer {}", answers - 1), n = s.tokens.size();
  const std::size_t across = width == 0 ? n : std::max<std::size_t>(1, (width - first) / column);
  std::string text;
  for (std::size_t begin = 0; begin < n; begin += across) {
    const std::size_t end = std::min(n, begin + across);
    text += fmt::format("{:{}}", "token", first);
    for (std::size_t t = begin; t < end; ++t)
      text += fmt::format(
          "{:>{}}", fmt::format("{}:{}", s.tokens[t] / s.form.values, s.tokens[t] % s.form.values), column);
    for (std::size_t r = 0; r < answers; ++r) {
      text += fmt::format("\n{:{}}", fmt::format("answer {}", r), first);
      for (std::size_t t = begin; t < end; ++t)
        text += fmt::format("{:>{}}", s.labels[t * answers + r], column);
    }
    text += "\n";
  }
  return text;
}

std::string answer_text(const Shown& s) {
  const std::string_view kind = s.form.of_positions ? "position " : "";
  if (s.answer && s.labels.size() > 1) return fmt::format("every token answers {}{}", kind, *s.answer);
  if (s.answer) return fmt::format("answer: {}{}", kind, *s.answer);
  std::vector<std::int32_t> own(s.labels.size());
  std::iota(own.begin(), own.end(), 0);
  if (s.form.of_positions && std::ranges::equal(own, s.labels)) return "every token answers its own position";
  return fmt::format("answers: {}", fmt::join(s.labels, " "));
}

/// `3 x14, 7 x13, ...`: the most frequent tokens, of equally frequent ones the smallest first.
std::string counts_text(const Shown& s) {
  constexpr std::size_t most = 8;
  std::map<std::int32_t, std::int64_t> counts;
  for (const std::int32_t token : s.tokens) ++counts[token];
  std::vector<std::pair<std::int64_t, std::int32_t>> sorted;
  for (const auto& [token, n] : counts) sorted.emplace_back(-n, token);
  std::ranges::sort(sorted);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    parts.push_back(fmt::format("{} x{}", sorted[i].second, -sorted[i].first));
  return fmt::format("{}{}", fmt::join(parts, ", "), sorted.size() > most ? ", ..." : "");
}

/// Columns that a sequence's positions, and its tokens with their marks, take.
struct Columns {
  std::size_t position, token;
};

Columns columns(const Shown& s) {
  return {fmt::formatted_size("{}", s.tokens.size() - 1) + 2,
          fmt::formatted_size("{}", s.form.vocabulary - 1) + 3};
}

std::string row_text(const Shown& s, std::size_t begin, std::size_t end) {
  constexpr std::string_view opens = " [({", closes = " ])}";
  const Columns c = columns(s);
  std::string text = fmt::format("{:>{}} ", begin, c.position);
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t mark = (s.announces(i) ? 1U : 0U) + (s.answers(i) ? 2U : 0U);
    text += fmt::format("{:>{}}{}", fmt::format("{}{}", opens[mark], s.tokens[i]), c.token - 1, closes[mark]);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

/// Tokens in rows of `across`.
std::string rows_text(const Shown& s, std::size_t across) {
  const std::size_t n = s.tokens.size(), rows = (n + across - 1) / across;
  std::string text;
  std::size_t left_out = 0;
  for (std::size_t begin = 0; begin < n; begin += across) {
    const std::size_t end = std::min(n, begin + across);
    bool kept = rows <= most_rows || begin == 0 || end == n;
    for (std::size_t i = begin; i < end && !kept; ++i) kept = s.decides(i);
    if (kept && left_out > 0)
      text += fmt::format("{:>{}}  {} tokens\n", "...", columns(s).position, left_out);
    if (kept) text += row_text(s, begin, end);
    left_out = kept ? 0 : left_out + end - begin;
  }
  return text;
}

/// As many tokens as fit behind a position; a multiple of ten if so many do.
std::size_t tokens_across(const Shown& s, std::size_t width) {
  constexpr std::size_t round = 10;
  if (width == 0) return s.tokens.size();
  const Columns c = columns(s);
  const std::size_t fit = width > c.position + c.token ? (width - c.position - 1) / c.token : 1;
  return fit > round ? fit / round * round : fit;
}

}  // namespace

std::vector<std::string> cases_of(const Config& config, ConstTokens tokens) {
  const Task& t = task(config.task.name);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < t.cases.size(); ++k)
    if ((t.counters(config, tokens) >> k & 1U) != 0) names.push_back(t.cases[k]);
  return names;
}

std::string marks_text(const Keys& keys, const Config& config) {
  const Form form = task(config.task.name).form(config);
  if (form.values > 0) return "key:value, below it the values that it answers";
  if (!form.of_positions && !answers_are_tokens(config, form)) return "none";
  std::string answer = form.of_positions ? "( ) at the answer's position" : "( ) the answer";
  const std::vector<std::int32_t> announce = announcing(keys, config);
  if (announce.empty()) return answer;
  return fmt::format("[{}] announce{} a case, {}, {{ }} both", fmt::join(announce, "] and ["),
                     announce.size() == 1 ? "s" : "", answer);
}

std::string sequence_text(const Keys& keys, const Config& config, const Sequences& sequences, std::size_t b,
                          std::size_t width) {
  const Shown s = shown(keys, config, sequences, b);
  if (s.form.values > 0) return fmt::format("sequence {}:\n{}", b, pairs_text(s, width));
  const std::vector<std::string> cases = cases_of(config, s.tokens);
  std::string text = fmt::format("sequence {}: {}{}{}\n", b, fmt::join(cases, ", "),
                                 cases.empty() ? "" : "; ", answer_text(s));
  if (s.of_tokens) text += fmt::format("counts: {}\n", counts_text(s));
  return text + rows_text(s, tokens_across(s, width));
}

}  // namespace headlab
