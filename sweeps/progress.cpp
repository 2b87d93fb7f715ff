#include "sweeps/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/base/numbers.hpp"

namespace headlab {
namespace {

constexpr std::string_view clear_below = "\x1b[J";  // from the cursor to the end of the screen
constexpr double live_period = .2, plain_period = 30;

/// As many of the line's parts, else words, as fit into `room`: a full line would wrap.
std::string_view fitting(std::string_view line, std::size_t room) {
  if (line.size() <= room) return line;
  for (const char* joint : {", ", " "})
    if (const auto end = line.rfind(joint, room); end != line.npos) return line.substr(0, end);
  return "";
}

}  // namespace

std::string duration(double seconds) {
  if (!(seconds < 100 * 86400.)) return "more than 100 days";
  const auto s = static_cast<std::int64_t>(std::ceil(seconds));
  if (s < 100) return fmt::format("{} s", s);
  const std::int64_t minutes = (s + 59) / 60, hours = (minutes + 59) / 60;
  if (minutes < 100) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string progress_line(const Tally& t, double seconds) {
  std::string line = fmt::format("{} of {} done", grouped(t.done), grouped(t.planned));
  const auto add = [&](std::int64_t n, const char* what) {
    if (n > 0) line += fmt::format(", {} {}", grouped(n), what);
  };
  add(t.diverged, "diverged");
  add(t.failed, "failed");
  add(t.running, "running");
  add(t.elsewhere, "running elsewhere");
  if (t.ran > 0 && seconds > 0)
    add(std::llround(3600 * static_cast<double>(t.ran) / seconds), "models an hour");
  if (t.seconds_left > 0) line += fmt::format(", {} left", duration(t.seconds_left));
  return line;
}

Terminal standard_error() {
  Terminal t{.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }};
  const char* kind = std::getenv("TERM");
  t.live = isatty(STDERR_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
  t.width = [] {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return std::size_t{known ? size.ws_col : 80U};
  };
  return t;
}

Progress::Progress(Terminal terminal, std::function<double()> now)
    : terminal_(std::move(terminal)), now_(std::move(now)), start_(now_()), last_(start_) {}

void Progress::show(const Tally& tally) {
  const double now = now_();
  if (now - last_ < (terminal_.live ? live_period : plain_period)) return;
  last_ = now;
  put(tally);
}

void Progress::finish(const Tally& tally) {
  put(tally);
  if (terminal_.live) terminal_.write("\n");
  shown_ = false;
}

void Progress::say(std::string_view text) {
  terminal_.write(fmt::format("{}{}\n", shown_ ? clear_below : "", text));
  shown_ = false;
}

void Progress::put(const Tally& tally) {
  std::string line = progress_line(tally, now_() - start_);
  if (!terminal_.live) return terminal_.write(line + "\n");
  const std::size_t width = std::max<std::size_t>(terminal_.width(), 1);
  terminal_.write(fmt::format("\r{}{}\r", fitting(line, width - 1), clear_below));
  shown_ = true;
}

}  // namespace headlab
