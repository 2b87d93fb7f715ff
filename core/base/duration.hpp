#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace headlab {

using Seconds = std::chrono::duration<double>;

/// A length of time: numbers with units d, h, m, s, largest first (`90s`, `1.5h`, `1h30m`), or hours, minutes
/// and seconds behind days if there are any, as SLURM writes them (`1-12:00:00`, `36:00:00`). Nothing for
/// anything else: a number without a unit is none, nor is what is negative or beyond 100,000 days.
std::optional<Seconds> read_duration(std::string_view text);

/// What a text that is no duration should have been, for messages.
inline constexpr std::string_view duration_form = "a duration, such as 90s, 90m, 2h or 1-12:00:00";

/// As read_duration; for anything else ConfigError, `WHERE: 90 is not a duration, such as ...`.
Seconds duration(std::string_view where, std::string_view text);

/// For people, and as read_duration reads it: 0.25s, 1m30s, 2h; whole seconds from 1 s on, 1-12:00:00 from a
/// day on.
std::string to_text(Seconds duration);

}  // namespace headlab
