#include "experiments/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace headlab::console {
namespace {

void prefixed(std::string_view prefix, std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1))
    tell(fmt::format("{}: {}\n", prefix, text.substr(0, text.find('\n'))));
}

/// The text in lines of at most `room` bytes (more if a word is longer), the further ones behind `indent`
/// blanks.
std::string broken(std::string_view text, std::size_t room, std::size_t indent) {
  std::string out;
  while (text.size() > room) {
    auto blank = text.rfind(' ', room);
    if (blank == text.npos) blank = text.find(' ');
    if (blank == text.npos) break;
    out.append(text.substr(0, blank)).append("\n").append(indent, ' ');
    text.remove_prefix(blank + 1);
  }
  return out.append(text);
}

}  // namespace

void write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw Closed();
  throw std::system_error(errno, std::generic_category(), "standard output");
}

bool offer(std::string_view text) try {
  write(text);
  return true;
} catch (const Closed&) {
  return false;
}

void tell(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }
void errors(std::string_view text) { prefixed("error", text); }
void notes(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) prefixed("note", line);
}

std::size_t width() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<std::size_t> widths;  // of all columns that are the last of no row
  for (const auto& row : rows)
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  constexpr std::size_t narrowest = 24;
  std::string out;
  for (const auto& row : rows) {
    std::size_t indent = 0;
    for (std::size_t i = 0; i + 1 < row.size(); indent += widths[i++] + 2)
      out += fmt::format("{:<{}}  ", row[i], widths[i]);
    if (row.empty()) continue;
    out += width < indent + narrowest ? row.back() : broken(row.back(), width - indent - 1, indent);
    out += '\n';
  }
  return out;
}

}  // namespace headlab::console
