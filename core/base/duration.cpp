#include "core/base/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace headlab {
namespace {

constexpr double minute = 60, hour = 60 * minute, day = 24 * hour, longest = 1e5 * day;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits alone, at most `most`.
std::optional<int> whole(std::string_view text, int most) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool digits = !text.empty() && std::ranges::all_of(text, is_digit);
  if (!digits || error != std::errc{} || n > most) return {};
  return n;
}

/// [D-]H:MM:SS. Hours go up to 23 behind days.
std::optional<double> read_clock(std::string_view text) {
  const auto dash = text.find('-'), first = text.find(':'), second = text.find(':', first + 1);
  if (second == text.npos) return {};
  const bool days_given = dash < first;
  const std::size_t begin = days_given ? dash + 1 : 0;
  constexpr int any = 99'999'999;
  const auto days = days_given ? whole(text.substr(0, dash), any) : 0;
  const auto hours = whole(text.substr(begin, first - begin), days_given ? 23 : any);
  const std::string_view mm = text.substr(first + 1, second - first - 1), ss = text.substr(second + 1);
  const auto minutes = whole(mm, 59), seconds = whole(ss, 59);
  if (!days || !hours || !minutes || !seconds || mm.size() != 2 || ss.size() != 2) return {};
  return *days * day + *hours * hour + *minutes * minute + *seconds;
}

std::optional<double> read_units(std::string_view text) {
  double sum = 0, last = longest;
  while (!text.empty()) {
    const auto letter = text.find_first_of("dhms");
    const bool is_number = is_digit(text[0]) || text[0] == '.';
    if (letter == text.npos || !is_number) return {};
    const auto count = read_real(text.substr(0, letter));
    const char c = text[letter];
    const double unit = c == 'd' ? day : c == 'h' ? hour : c == 'm' ? minute : 1;
    if (!count || unit >= last) return {};
    sum += *count * unit;
    last = unit;
    text.remove_prefix(letter + 1);
  }
  return sum;
}

}  // namespace

std::optional<Seconds> read_duration(std::string_view text) {
  if (text.empty()) return {};
  const auto seconds = text.find(':') == text.npos ? read_units(text) : read_clock(text);
  if (!seconds || *seconds > longest) return {};
  return Seconds(*seconds);
}

Seconds duration(std::string_view where, std::string_view text) {
  const auto read = read_duration(text);
  require(read.has_value(), "{}: {} is not {}", where, visible(text), duration_form);
  return *read;
}

std::string to_text(Seconds duration) {
  if (duration.count() < 1) return number(duration.count()) + "s";
  const auto all = std::llround(duration.count());
  const auto s = all % 60, m = all / 60 % 60, h = all / 3600;
  if (h >= 24) return fmt::format("{}-{:02}:{:02}:{:02}", h / 24, h % 24, m, s);
  std::string text;
  for (const auto& [count, unit] : {std::pair(h, 'h'), std::pair(m, 'm'), std::pair(s, 's')})
    if (count > 0) text += fmt::format("{}{}", count, unit);
  return text;
}

}  // namespace headlab
