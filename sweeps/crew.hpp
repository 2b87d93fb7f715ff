#pragma once
// Worker processes side by side, one trial each.
#include <chrono>
#include <memory>

#include "sweeps/awake_time.hpp"
#include "sweeps/worker_process.hpp"

namespace headlab {

/// Why a crew has killed a worker.
enum class Killed { no, overdue, stopped };

/// A trial that a worker has ended, one way or another.
struct Ended {
  std::size_t trial;
  std::optional<Report> report;  ///< none: the worker has died
  std::string death{};           ///< "killed by signal 11 (SIGSEGV)"
  std::string last_words{};      ///< of the worker that died
  Killed killed = Killed::no;
};

class Crew {
 public:
  /// Up to `size` workers, started when they are needed with these words; `say` gets the lines that they
  /// write to standard output or error.
  Crew(std::size_t size, std::vector<std::string> words, Greeting greeting,
       std::function<void(std::string_view)> say);

  std::vector<std::size_t> trials() const;  ///< that are running
  std::int64_t running() const { return std::ssize(trials()); }
  bool is_full() const;
  /// The process of the worker that the next assignment goes to; not while the crew is full.
  pid_t next_worker();
  /// Gives that worker a trial; `trial` is what the crew calls it.
  void assign(std::size_t trial, const Assignment& assignment);

  /// What has ended, after some time or as soon as something has.
  std::vector<Ended> wait(std::chrono::milliseconds patience);
  /// Asks for the end of all trials.
  void stop();
  /// Kills workers whose trial has run for longer, this process not being stopped meanwhile.
  void kill_older_than(std::chrono::duration<double> limit, Killed why);
  /// Seconds for which this process was not stopped, at the last wait().
  double now() const { return now_; }

 private:
  struct Slot {
    std::unique_ptr<WorkerProcess> worker{};
    std::optional<std::size_t> trial{};
    double start{};
    Killed killed = Killed::no;
  };
  Slot* idle_slot();
  std::optional<Ended> listen(Slot& slot) const;
  std::optional<Ended> bury(Slot& slot) const;

  std::vector<Slot> slots_;
  std::vector<std::string> words_;
  Greeting greeting_;
  std::function<void(std::string_view)> say_;
  AwakeTime time_;
  double now_ = 0;
};

}  // namespace headlab
