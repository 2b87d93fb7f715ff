#include "sweeps/runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "core/base/duration.hpp"
#include "core/config/write.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/account.hpp"
#include "sweeps/attempts.hpp"
#include "sweeps/checkpoints.hpp"
#include "sweeps/crew.hpp"
#include "sweeps/schedule.hpp"
#include "sweeps/selection.hpp"

namespace headlab {
namespace {

constexpr int damaged_code = 3, stopped_code = 75, failed_code = 1;
constexpr std::chrono::milliseconds patience{100};

bool disk_full(const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const std::system_error& e) {
  return no_space(e.code());
} catch (...) {
  return false;
}

std::string text_of(const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const std::exception& e) {
  return e.what();
}

/// The supervisor: it hands trials out to worker processes and sees to how they end. Trials are positions in
/// plan.trials.
class Runner {
 public:
  Runner(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options)
      : keys_(keys),
        plan_(plan),
        store_(store),
        options_(options),
        account_(keys, plan, store, options),
        attempts_(store.folder()),
        crew_(static_cast<std::size_t>(std::max(options.workers, 1)), options.worker,
              {::getpid(), store.folder(), options.provenance}, [this](std::string_view line) { say(line); }),
        schedule_(make_schedule()),
        pace_(options.pace) {}

  RunResult run() {
    clean_checkpoints(checkpoints(), [this](const std::string& id) {
      const Stored* known = store_.find(id);
      return known != nullptr && finished(known->status);
    });
    for (hand_out(); crew_.running() > 0 || (account_.is_folding() && !is_stopping()); hand_out()) {
      for (const Ended& ended : crew_.wait(patience)) guarded([&] { see_to(ended); });
      if (!failure_) guarded([&] { account_.fold_if_crowded(running()); });
      crew_.kill_older_than(Seconds(options_.trial_timeout), Killed::overdue);
      if (is_stopping()) end_trials();
      show();
    }
    account_.look_for_losses();
    if (!failure_) guarded([&] { account_.fold_at_end(options_.stop); });
    account_.stop_folding();
    if (options_.progress != nullptr) options_.progress->finish(account_.tally());
    return result();
  }

 private:
  const std::string& id_of(std::size_t trial) const { return plan_.trials[trial].id; }
  const Config& config_of(std::size_t trial) const { return plan_.trials[trial].config; }

  void say(std::string_view line) const {
    if (options_.progress != nullptr) options_.progress->say(fmt::format("worker: {}", line));
  }
  void show() const {
    Tally tally = account_.tally();
    tally.running = crew_.running();
    if (options_.progress != nullptr) options_.progress->show(tally);
  }
  /// The first failure stops the sweep; what runs meanwhile is still stored, if it can be.
  template <class Action>
  void guarded(const Action& action) {
    try {
      action();
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  Schedule make_schedule() {
    std::vector<std::size_t> order, suspects;
    for (const std::size_t trial : todo(plan_, store_, options_)) {
      (attempts_.crashes(id_of(trial)) > 0 ? suspects : order).push_back(trial);
      account_.expect(options_.cost(config_of(trial)));
    }
    to_run_ = std::ssize(order) + std::ssize(suspects);
    return {std::move(order), std::move(suspects)};
  }

  std::set<std::string> running() const {
    std::set<std::string> ids;
    for (const std::size_t trial : crew_.trials()) ids.insert(id_of(trial));
    return ids;
  }
  bool is_stopping() const {
    return failure_ || account_.too_many_failures() || options_.stop() || options_.time_left() <= 0;
  }
  /// While there is a free worker and a trial for it.
  void hand_out() {
    while (!crew_.is_full() && !is_stopping()) {
      const double left = options_.time_left();
      const auto trial =
          schedule_.next(crew_.running(), [&](std::size_t t) { return pace_.seconds(config_of(t)) <= left; });
      if (!trial) return;
      guarded([&] { start(*trial); });
    }
  }
  void start(std::size_t trial) {
    attempts_.begin(id_of(trial), crew_.next_worker());
    crew_.assign(trial, {id_of(trial), toml_text(keys_, {config_of(trial), {}, {}})});
  }
  /// Running trials are asked to end, and killed if they do not.
  void end_trials() {
    if (!asked_) crew_.stop();
    if (!asked_) asked_ = Crew::Clock::now();
    if (Crew::Clock::now() - *asked_ > Seconds(options_.grace)) crew_.kill_older_than({}, Killed::stopped);
  }

  void see_to(const Ended& ended) {
    const std::string& id = id_of(ended.trial);
    if (ended.report) {
      account_.enter(ended.trial, *ended.report);
      pace_.add(config_of(ended.trial), ended.report->seconds);
      if (ended.report->status == Status::interrupted) return attempts_.give_up(id);
    } else if (!account_.enter_if_finished(ended.trial)) {
      for (const auto& inner : {store_.trial_path(id).parent_path(), checkpoints()})
        if (std::filesystem::is_directory(inner)) remove_leftovers(inner);
      if (ended.killed == Killed::stopped) return attempts_.give_up(id);
      if (ended.killed == Killed::no && !is_guilty(ended)) return schedule_.suspect(ended.trial);
      account_.enter_failed(ended.trial, reason(ended), attempts_.start(id));
    }
    attempts_.end(id);
    if (finished(store_.find(id)->status)) forget_checkpoint(checkpoint_path(checkpoints(), id));
  }
  std::filesystem::path checkpoints() const { return store_.folder() / "checkpoints"; }
  /// Whether it is the trial's second crash.
  bool is_guilty(const Ended& ended) { return attempts_.crash(id_of(ended.trial), ended.death) > 1; }
  std::string reason(const Ended& ended) const {
    if (ended.killed == Killed::overdue)
      return fmt::format("ended after {}, the limit of --trial-timeout",
                         to_text(Seconds(options_.trial_timeout)));
    return fmt::format("its process crashed twice: {}{}{}", ended.death, ended.last_words.empty() ? "" : ": ",
                       ended.last_words);
  }

  int exit_code() const {
    if (!store_.damaged().empty()) return damaged_code;
    if (account_.too_many_failures()) return failed_code;
    if (failure_ || account_.lost() > 0 || account_.tally().ran < to_run_) return stopped_code;
    return account_.has_failures() ? failed_code : 0;
  }
  RunResult result() const {
    if (failure_ && !disk_full(failure_)) std::rethrow_exception(failure_);
    RunResult r{.counts = count(plan_, store_), .ran = account_.tally().ran, .faults = account_.faults()};
    if (failure_) r.faults.push_back(text_of(failure_));
    r.exit_code = exit_code();
    return r;
  }

  const Keys& keys_;
  const SweepPlan& plan_;
  Store& store_;
  const RunOptions& options_;
  std::int64_t to_run_ = 0;
  Account account_;
  Attempts attempts_;
  Crew crew_;
  Schedule schedule_;
  Pace pace_;
  std::exception_ptr failure_;
  std::optional<Crew::Clock::time_point> asked_{};
};

}  // namespace

RunResult run(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options) {
  require_scheme(store);
  return Runner(keys, plan, store, options).run();
}

}  // namespace headlab
