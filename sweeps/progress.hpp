#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headlab {

/// How a sweep stands.
struct Tally {
  std::int64_t planned{}, done{}, diverged{}, failed{}, running{};
  std::int64_t elsewhere{};  ///< running, in other processes
  std::int64_t ran{};        ///< trials finished by this process
  double seconds_left{};     ///< NaN, or nothing: not known
};

/// For people: 95 s, 40 min, 1 h 20 min, 3 d 4 h; rounded up.
std::string duration(double seconds);

/// "120 of 400 done, 1 diverged, 2 failed, 4 running, 2 running elsewhere, 350 models an hour, 48 min left",
/// `seconds` after the start of this process's first trial.
std::string progress_line(const Tally& tally, double seconds);

/// What lines are written to.
struct Terminal {
  std::function<void(std::string_view)> write;
  bool live = false;  ///< one line is written over and over; else lines follow each other
  std::function<std::size_t()> width = [] { return std::size_t{80}; };  ///< columns at the moment
};
/// Of standard error: live if it is a terminal and TERM is not `dumb`.
Terminal standard_error();

/// A live line, at most 5 times a second, or a plain line at most every 30 s, and one at the end. The cursor
/// waits at the start of the live line, where it stays if a terminal that has become narrower wraps the line;
/// the next one then clears all rows of it.
class Progress {
 public:
  /// `now` gives seconds since some moment.
  Progress(Terminal terminal, std::function<double()> now);

  void show(const Tally& tally);
  void finish(const Tally& tally);
  /// A line of its own: a live line makes room for it.
  void say(std::string_view text);

 private:
  void put(const Tally& tally);

  Terminal terminal_;
  std::function<double()> now_;
  double start_, last_;
  bool shown_ = false;
};

}  // namespace headlab
