#include "sweeps/crew.hpp"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "core/base/error.hpp"
#include "core/dnn/threads.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

std::size_t at_least_one(int workers) { return static_cast<std::size_t>(std::max(workers, 1)); }

}  // namespace

struct Crew::State {
  State(const Keys& k, const SweepPlan& p, std::vector<std::size_t> o, const RunOptions& r)
      : keys(k), plan(p), order(std::move(o)), options(r) {}

  const Keys& keys;
  const SweepPlan& plan;
  const std::vector<std::size_t> order;
  const RunOptions& options;

  tbb::global_control threads{tbb::global_control::max_allowed_parallelism,
                              at_least_one(options.workers) + 1};
  tbb::task_arena arena{static_cast<int>(at_least_one(options.workers)), 0};

  std::atomic<bool> stopping{false};
  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::deque<Finished> finished{};
  std::size_t next = 0;  // in order
  std::size_t workers = 0;
  std::int64_t running = 0;

  bool stopped() const { return stopping || options.stop(); }
  std::optional<std::size_t> take() {
    const std::lock_guard lock(mutex);
    if (next == order.size() || stopped()) return {};
    ++running;
    return order[next++];
  }
  void give(Finished f) {
    const std::lock_guard lock(mutex);
    --running;
    finished.push_back(std::move(f));
    changed.notify_one();
  }
  TrialRecord failed(const PlannedTrial& trial, const std::string& message) const {
    Outcome outcome;
    outcome.message = message;
    return record_of(keys, trial.config, outcome);
  }
  TrialRecord record(const PlannedTrial& trial) const try {
    TrialRecord r = options.run(trial, [this] { return stopped(); });
    if (r.id != trial.id)
      throw RunError(fmt::format("[runner] a record must be of trial {}, is of {}", trial.id, r.id));
    return r;
  } catch (const std::exception& e) {
    return failed(trial, e.what());
  } catch (...) {
    return failed(trial, "an exception of an unknown type");
  }
  void work() {
    dnn::single_threaded();  // not by an observer: TBB begins each task with the flags of the arena's maker
    while (const auto trial = take()) {
      const std::string start = timestamp();
      TrialRecord r = record(plan.trials[*trial]);
      r.provenance.insert(options.provenance.begin(), options.provenance.end());
      r.provenance["start"] = start;
      r.provenance["end"] = timestamp();
      give({*trial, std::move(r)});
    }
    const std::lock_guard lock(mutex);
    --workers;
    changed.notify_one();
  }
  /// What TBB hands to a worker.
  struct Start {
    State* state;
    void operator()() const { state->work(); }
  };
};

Crew::Crew(const Keys& keys, const SweepPlan& plan, std::vector<std::size_t> order, const RunOptions& options)
    : state_(std::make_unique<State>(keys, plan, std::move(order), options)) {
  const std::lock_guard lock(state_->mutex);  // workers take it first: so they see all that is before this
  state_->workers = std::min(at_least_one(options.workers), state_->order.size());
  for (std::size_t i = 0; i < state_->workers; ++i) state_->arena.enqueue(State::Start{state_.get()});
}

Crew::~Crew() {
  stop();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->workers == 0; });
}

std::optional<Finished> Crew::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, patience,
                           [this] { return !state_->finished.empty() || state_->workers == 0; });
  if (state_->finished.empty()) return {};
  Finished f = std::move(state_->finished.front());
  state_->finished.pop_front();
  return f;
}

bool Crew::busy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->workers > 0 || !state_->finished.empty();
}

std::int64_t Crew::running() const {
  const std::lock_guard lock(state_->mutex);
  return state_->running;
}

void Crew::stop() { state_->stopping = true; }

}  // namespace headlab
