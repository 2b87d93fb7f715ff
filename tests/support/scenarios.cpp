#include "tests/support/scenarios.hpp"

#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <thread>

#include "core/base/error.hpp"
#include "sweeps/worker.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

void append(const std::filesystem::path& file, const std::string& line) {
  const int log = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (::write(log, line.data(), line.size()) < 0) throw RunError("cannot write " + file.native());
  ::close(log);
}

TrialRecord interrupted(const PlannedTrial& t, const Stop& stop) {
  while (!stop()) std::this_thread::sleep_for(1ms);
  TrialRecord r = sample_record(t);
  r.status = Status::interrupted;
  return r;
}

[[noreturn]] void end_by(const std::string& how) {
  rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (how == "exit") ::_exit(3);
  if (how == "terminate") [&]() noexcept { require(how.empty(), "a fault that nobody catches"); }();
  const int signal = how == "segv" ? SIGSEGV : how == "kill" ? SIGKILL : SIGABRT;
  ::signal(signal, SIG_DFL);  // whatever a sanitizer has set
  ::raise(signal);
  ::_exit(99);
}

/// Takes memory until there is none of the half gigabyte that it may have.
[[noreturn]] void eat_memory() {
  const rlimit little{1U << 29U, 1U << 29U};
  ::setrlimit(RLIMIT_AS, &little);
  std::vector<std::vector<char>> eaten;
  for (;;) eaten.emplace_back(1U << 24U, 'x');
}

/// Takes twice as much memory as a control group allows its processes, of which this one becomes one.
void outgrow(const std::filesystem::path& group, std::size_t allowed) {
  append(group / "cgroup.procs", std::to_string(getpid()));
  const std::vector<char> eaten(2 * allowed, 'x');
  throw RunError(fmt::format("was not killed for its {} bytes", eaten.size()));
}

/// As soon as all of `n` trials have begun.
TrialRecord side_by_side(const PlannedTrial& t, const std::string& folder, std::size_t n) {
  append(folder + "/" + t.id, "");
  const auto begun = [&] {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  };
  for (int i = 0; begun() < n; ++i, std::this_thread::sleep_for(10ms))
    if (i == 1000) throw RunError("waited in vain");
  return sample_record(t);
}

/// A guilty trial crashes if another one runs, as one that needs all memory would.
TrialRecord alone(const PlannedTrial& t, const std::filesystem::path& folder) {
  append(folder / t.id, "");
  std::this_thread::sleep_for(is_guilty(t) ? 50ms : 100ms);
  if (is_guilty(t) && std::distance(std::filesystem::directory_iterator(folder), {}) > 1) {
    std::filesystem::remove(folder / t.id);
    end_by("kill");
  }
  std::filesystem::remove(folder / t.id);
  return sample_record(t);
}

/// From seed 258 on, a trial ends as soon as there is such a file.
TrialRecord awaits(const PlannedTrial& t, const std::filesystem::path& file) {
  for (int i = 0; t.config.seed >= 258 && !std::filesystem::exists(file);
       ++i, std::this_thread::sleep_for(10ms))
    if (i == 6000) throw RunError("waited in vain");
  return sample_record(t);
}

TrialRecord in_one_thread(const PlannedTrial& t) {
  if (omp_get_max_threads() != 1) throw RunError("OpenMP has several threads");
  if (_MM_GET_FLUSH_ZERO_MODE() != _MM_FLUSH_ZERO_ON) throw RunError("denormals are kept");
  return sample_record(t);
}

/// A trial of seed 3 removes all trials once three others are stored.
TrialRecord removes(const PlannedTrial& t, const std::filesystem::path& folder) {
  if (t.config.seed != 3) return sample_record(t);
  const auto stored = [&] {
    std::ptrdiff_t n = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder / "trials"))
      n += file.path().extension() == ".h5";
    return n;
  };
  while (stored() < 3) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(200ms);  // until the last one's folder is synced
  std::filesystem::remove_all(folder / "trials");
  return sample_record(t);
}

void speak(std::string_view words) {
  while (!words.empty())
    words.remove_prefix(static_cast<std::size_t>(::write(STDERR_FILENO, words.data(), words.size())));
}
/// Its supervisor hears that it has gone before it speaks and goes.
[[noreturn]] void speak_late(std::string_view words) {
  ::close(worker_descriptor);
  std::this_thread::sleep_for(200ms);
  speak(words);
  ::_exit(3);
}

using Scenarios = std::map<std::string, RunTrial>;

Scenarios harmless(const std::string& first, const std::string& second) {
  const auto fine = [](const PlannedTrial& t, const Stop&) { return sample_record(t); };
  return {{"fine", fine},
          {"trains", silent_training(core_only())},
          {"in-one-thread", [](const auto& t, const Stop&) { return in_one_thread(t); }},
          {"logs", [=](const auto& t, const Stop&) { return append(first, t.id + "\n"), sample_record(t); }},
          {"sleeps",
           [=](const auto& t, const Stop&) {
             std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(first)));
             if (!second.empty()) append(second, t.id + "\n");
             return sample_record(t);
           }},
          {"side-by-side", [=](const auto& t, const Stop&) {
             return side_by_side(t, first, static_cast<std::size_t>(std::stoi(second)));
           }}};
}

Scenarios harmful(const std::string& first, const std::string& second) {
  return {
      {"throws", [](const auto&, const Stop&) -> TrialRecord { throw RunError("no"); }},
      {"throws-at-some",
       [](const auto& t, const Stop&) {
         if (t.config.model.dim == 16) throw RunError("NaN in " + std::to_string(t.config.seed));
         if (t.config.model.dim == 8) throw 3;
         return sample_record(t);
       }},
      {"is-another", [](const auto&, const Stop&) { return sample_record(plan_of(runner_axes).trials[0]); }},
      {"removes", [=](const auto& t, const Stop&) { return removes(t, first); }},
      {"waits-at-seed-1",
       [=](const auto& t, const Stop& stop) {
         append(first, t.id + "\n");
         return t.config.seed == 1 ? interrupted(t, stop) : sample_record(t);
       }},
      {"crashes",
       [=](const auto& t, const Stop&) {
         if (!second.empty()) append(second, t.id + "\n");
         if (is_guilty(t)) end_by(first);
         return sample_record(t);
       }},
      {"crashes-once",
       [=](const auto& t, const Stop&) {
         const std::string flag = second + "/" + t.id;
         if (is_guilty(t) && !std::filesystem::exists(flag)) append(flag, ""), end_by(first);
         return sample_record(t);
       }},
      {"writes-and-crashes",
       [=](const auto& t, const Stop&) {
         if (is_guilty(t)) Store(first).add(sample_record(t)), end_by("kill");
         return sample_record(t);
       }},
      {"waits-for-results", [=](const auto& t, const Stop&) { return awaits(t, first); }},
      {"crashes-beside-others", [=](const auto& t, const Stop&) { return alone(t, first); }},
      {"eats",
       [](const auto& t, const Stop&) {
         if (is_guilty(t)) eat_memory();
         return sample_record(t);
       }},
      {"outgrows",
       [=](const auto& t, const Stop&) {
         if (is_guilty(t)) outgrow(first, std::stoull(second));
         return sample_record(t);
       }},
      {"never-ends", [](const auto& t, const Stop&) {
         while (is_guilty(t)) std::this_thread::sleep_for(1s);
         return sample_record(t);
       }}};
}

/// Of standard error.
Scenarios speaking(const std::string& first, const std::string& second) {
  return {{"speaks-or-crashes",
           [=](const auto& t, const Stop&) {
             if (is_guilty(t)) end_by("exit");
             return speak(first), sample_record(t);
           }},
          {"speaks-and-crashes",
           [=](const auto& t, const Stop&) {
             if (!is_guilty(t)) return sample_record(t);
             std::string words;
             for (int i = 0; i < std::stoi(second); ++i) words += first;
             speak(words), end_by("exit");
           }},
          {"never-stops-speaking",
           [=](const auto& t, const Stop&) {
             while (is_guilty(t)) speak(first);
             return sample_record(t);
           }},
          {"speaks-late", [=](const auto& t, const Stop&) {
             if (is_guilty(t)) speak_late(first);
             return sample_record(t);
           }}};
}

RunTrial named(const Words& words) {
  const std::string first = words.size() > 1 ? words[1] : "", second = words.size() > 2 ? words[2] : "";
  Scenarios all = harmless(first, second);
  all.merge(harmful(first, second));
  all.merge(speaking(first, second));
  return all.at(words.at(0));
}

}  // namespace

int run_scenario(const std::vector<std::string>& words) { return serve(core_only(), named(words)); }

}  // namespace headlab::test
