#pragma once
// The console: results go to standard output, all else to standard error, a line each.
#include <fmt/format.h>

#include <exception>
#include <string_view>
#include <vector>

namespace headlab::console {

/// Who read standard output has gone (`| head`): there is nobody to write to, which is no fault.
class Closed : public std::exception {};

/// To standard output, at once. Closed, or std::system_error. SIGPIPE must be ignored.
void write(std::string_view text);
/// The same for what is worth going on without: false instead of Closed.
bool offer(std::string_view text);
template <class... A>
void print(fmt::format_string<A...> format, A&&... args) {
  write(fmt::format(format, std::forward<A>(args)...));
}

/// To standard error. What cannot be told stops nothing.
void tell(std::string_view text);
/// `error: ` or `note: ` before each line of the text.
void errors(std::string_view text);
void notes(const std::vector<std::string>& lines);

/// Columns of the terminal; 0 if standard output is none: then nothing is broken to fit.
std::size_t width();

/// Rows in columns as wide as they must be, two blanks apart; the last is broken at blanks to fit `width`
/// and goes on below itself. Rows may differ in length.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t width);

}  // namespace headlab::console
