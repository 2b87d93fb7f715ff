#include "sweeps/attempts.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

path attempts_in(const path& folder) { return folder / "attempts"; }

std::string this_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// When a process began, in ticks since the machine did; "" if it has ended. It is the 22nd word of its stat,
/// the 20th after its name, which may hold anything but ends in the last parenthesis; the first is its state.
std::string birth_of(pid_t process) {
  constexpr std::size_t state = 1, birth = 20;
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(in, text, '\0');
  std::istringstream rest(text.substr(std::min(text.rfind(')'), text.size())));
  const std::vector<std::string> words{std::istream_iterator<std::string>(rest), {}};
  const bool lives = words.size() > birth && words[state] != "Z" && words[state] != "X";
  return lives ? words[birth] : "";
}

std::string text_of(const Attempt& a) {
  std::string cause = a.cause;
  std::ranges::replace(cause, '\n', ' ');
  return fmt::format("crashes {}\ncause {}\nprocess {}\nbirth {}\nhost {}\nstart {}\n", a.crashes, cause,
                     a.process, a.birth, a.host, a.start);
}

Attempt attempt_in(const path& file) {
  Attempt a;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, blank), value(trimmed(line.substr(blank)));
    if (name == "crashes") a.crashes = read_integer(value).value_or(0);
    if (name == "process") a.process = static_cast<pid_t>(read_integer(value).value_or(0));
    if (name == "cause") a.cause = value;
    if (name == "birth") a.birth = value;
    if (name == "host") a.host = value;
    if (name == "start") a.start = value;
  }
  return a;
}

Attempt attempt_by(pid_t process) {
  return {.process = process, .birth = birth_of(process), .host = this_host(), .start = timestamp()};
}

}  // namespace

bool is_alive(const Attempt& a) {
  return a.process > 0 && a.host == this_host() && !a.birth.empty() && birth_of(a.process) == a.birth;
}

std::map<std::string, Attempt> read_attempts(const path& folder) {
  std::map<std::string, Attempt> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(attempts_in(folder), none))
    if (entry.path().extension().empty()) all[entry.path().filename()] = attempt_in(entry.path());
  return all;
}

Attempts::Attempts(path folder) : folder_(std::move(folder)), all_(read_attempts(folder_)) {}

Attempts::~Attempts() {
  std::error_code not_empty;
  std::filesystem::remove(attempts_in(folder_), not_empty);
}

std::vector<std::string> Attempts::ids() const {
  std::vector<std::string> all;
  for (const auto& [id, attempt] : all_) all.push_back(id);
  return all;
}
void Attempts::look_for(const std::string& id) {
  const path file = attempts_in(folder_) / id;
  std::error_code unknown;
  if (std::filesystem::exists(file, unknown))
    all_[id] = attempt_in(file);
  else
    all_.erase(id);
}
bool Attempts::is_running(const std::string& id) const {
  const auto found = all_.find(id);
  return found != all_.end() && is_alive(found->second);
}
std::int64_t Attempts::crashes(const std::string& id) const {
  const auto found = all_.find(id);
  return found != all_.end() ? found->second.crashes : 0;
}
std::string Attempts::start(const std::string& id) const { return all_.at(id).start; }

void Attempts::begin(const std::string& id, pid_t worker) {
  Attempt now = attempt_by(worker);
  now.crashes = all_[id].crashes, now.cause = all_[id].cause;
  all_[id] = std::move(now);
  write(id);
}
std::int64_t Attempts::crash(const std::string& id, const std::string& cause) {
  Attempt& attempt = all_.at(id);
  ++attempt.crashes, attempt.cause = cause, attempt.process = 0;
  write(id);
  return attempt.crashes;
}
void Attempts::give_up(const std::string& id) {
  if (crashes(id) == 0) return end(id);
  all_.at(id).process = 0;
  write(id);
}
void Attempts::end(const std::string& id) {
  all_.erase(id);
  std::error_code none;
  std::filesystem::remove(attempts_in(folder_) / id, none);
}
void Attempts::write(const std::string& id) const {
  const Attempt& attempt = all_.at(id);
  const path file = attempts_in(folder_) / id;
  if (attempt.crashes > 0)
    write_atomically(file, text_of(attempt));
  else
    replace(file, text_of(attempt));
}

}  // namespace headlab
