#include "sweeps/runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/base/duration.hpp"
#include "core/config/write.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/account.hpp"
#include "sweeps/attempts.hpp"
#include "sweeps/checkpoints.hpp"
#include "sweeps/claims.hpp"
#include "sweeps/crew.hpp"
#include "sweeps/schedule.hpp"
#include "sweeps/selection.hpp"
#include "sweeps/time_left.hpp"

namespace headlab {
namespace {

constexpr int damaged_code = 3, stopped_code = 75, failed_code = 1;
constexpr std::chrono::milliseconds patience{100};
constexpr double pause_elsewhere = 1;  // seconds between looks at what other processes run

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
/// plan.trials. One that another process has claimed is looked at again when nothing else is left; a claim is
/// held from before a trial's files are looked at until its result is stored, or as long as it is suspect.
class Runner {
 public:
  Runner(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options)
      : keys_(keys),
        plan_(plan),
        store_(store),
        options_(options),
        claims_(store.folder()),
        account_(keys, plan, store, options, claims_),
        attempts_(store.folder()),
        crew_(static_cast<std::size_t>(std::max(options.workers, 1)), options.worker,
              {::getpid(), store.folder(), options.provenance}, [this](std::string_view line) { say(line); }),
        pace_(options.pace),
        time_left_(options.pace.anew()),
        schedule_(make_schedule()) {}

  RunResult run() {
    clean_up();
    for (hand_out(); crew_.running() > 0 || (is_waiting() && !is_stopping()); hand_out()) {
      for (const Ended& ended : crew_.wait(patience)) guarded([&] { see_to(ended); });
      if (!failure_) guarded([&] { account_.fold_if_crowded(); });
      crew_.kill_older_than(Seconds(options_.trial_timeout), Killed::overdue);
      if (is_stopping()) end_trials();
      look_elsewhere();
      guarded([&] { claims_.require_in_place(); });
      if (options_.progress != nullptr) options_.progress->show(tally());
    }
    guarded([&] { store_.refresh(); });
    if (!failure_) guarded([&] { account_.fold_at_end(options_.stop); });
    account_.stop_folding();
    running_elsewhere_ = 0;
    if (options_.progress != nullptr) options_.progress->finish(tally());
    return result();
  }

 private:
  const std::string& id_of(std::size_t trial) const { return plan_.trials[trial].id; }
  const Config& config_of(std::size_t trial) const { return plan_.trials[trial].config; }

  void say(std::string_view line) const {
    if (options_.progress != nullptr) options_.progress->say(fmt::format("worker: {}", line));
  }
  Tally tally() const {
    Tally all = account_.tally();
    all.running = crew_.running();
    all.elsewhere = running_elsewhere_;
    all.seconds_left = time_left_.seconds(crew_.now(), std::max(options_.workers, 1) + running_elsewhere_);
    return all;
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

  /// Of what killed processes left, unless another one has gone on with it.
  void clean_up() {
    remove_all_leftovers(store_.folder());
    clean_checkpoints(checkpoints(), [this](const std::string& id) {
      const Stored* known = store_.find(id);
      return known != nullptr && finished(known->status);
    });
    for (const std::string& id : attempts_.ids()) {
      if (!claims_.take(id)) continue;
      attempts_.look_for(id);
      if (attempts_.crashes(id) == 0 && !attempts_.is_running(id)) attempts_.end(id);
      claims_.release(id);
    }
  }

  Schedule make_schedule() {
    std::vector<std::size_t> order, suspects;
    for (const std::size_t trial : todo(plan_, store_, options_)) {
      expect(trial);
      const bool is_suspect = attempts_.crashes(id_of(trial)) > 0;
      (is_suspect ? suspects : order).push_back(trial);
      if (is_suspect) suspected_.insert(trial);
      if (const Stored* known = store_.find(id_of(trial));
          known != nullptr && known->status == Status::failed)
        old_failures_[trial] = known->end;
    }
    to_run_ = std::ssize(order) + std::ssize(suspects);
    return {std::move(order), std::move(suspects)};
  }

  void expect(std::size_t trial) {
    shares_[trial] = options_.share_left(plan_.trials[trial]);
    time_left_.expect(trial, config_of(trial), shares_[trial]);
  }

  bool is_waiting() const { return account_.is_folding() || !elsewhere_.empty(); }
  bool is_stopping() const {
    return failure_ || account_.too_many_failures() || options_.stop() || options_.time_left() <= 0;
  }
  /// While there is a free worker and a trial for it.
  void hand_out() {
    while (!crew_.is_full() && !is_stopping() && !runs_suspect()) {
      const double left = options_.time_left();
      const auto trial = schedule_.next(crew_.running(), [&](std::size_t t) {
        return (std::isinf(left) || shares_.at(t) * pace_.seconds(config_of(t)) <= left) &&
               !account_.is_folding(id_of(t));
      });
      if (!trial) return;
      guarded([&] { take(*trial); });
    }
  }
  bool runs_suspect() const {
    return std::ranges::any_of(crew_.trials(), [this](std::size_t t) { return suspected_.contains(t); });
  }
  /// Starts a trial, unless another process runs or has ended it, or a worker that has lost its supervisor
  /// has not died yet.
  void take(std::size_t trial) {
    const std::string& id = id_of(trial);
    if (!claims_.take(id)) return elsewhere_.push_back(trial);
    attempts_.look_for(id);
    if (attempts_.is_running(id)) return claims_.release(id), elsewhere_.push_back(trial);
    if (has_ended_elsewhere(trial))
      return account_.enter_others(trial), time_left_.drop(trial), claims_.release(id);
    if (store_.is_damaged(id)) return time_left_.drop(trial), claims_.release(id);
    if (attempts_.crashes(id) > 0 && !suspected_.contains(trial)) return suspect(trial);
    start(trial);
  }
  /// A failure counts unless it is the one that this process is to try again.
  bool has_ended_elsewhere(std::size_t trial) {
    const Stored* now = store_.find_now(id_of(trial));
    if (now == nullptr || now->status == Status::interrupted) return false;
    const auto old = old_failures_.find(trial);
    return finished(now->status) || old == old_failures_.end() || old->second != now->end;
  }
  void suspect(std::size_t trial) {
    suspected_.insert(trial);
    schedule_.suspect(trial);
  }
  /// Once a second; what is still claimed comes back at once.
  void look_elsewhere() {
    if (crew_.now() < next_look_) return;
    next_look_ = crew_.now() + pause_elsewhere;
    running_elsewhere_ = std::ranges::count_if(claimed(store_.folder(), ids_), [this](const std::string& id) {
      return !claims_.held().contains(id);
    });
    if (!crew_.is_full() && !runs_suspect())
      for (const std::size_t trial : std::exchange(elsewhere_, {}))
        suspected_.contains(trial) ? schedule_.suspect(trial) : schedule_.add(trial);
  }
  void start(std::size_t trial) {
    attempts_.begin(id_of(trial), crew_.next_worker());
    crew_.assign(trial, {id_of(trial), toml_text(keys_, {config_of(trial), {}, {}})});
    time_left_.begin(trial, crew_.now());
  }
  /// Running trials are asked to end, and killed if they do not.
  void end_trials() {
    if (!asked_) crew_.stop();
    if (!asked_) asked_ = crew_.now();
    if (crew_.now() - *asked_ > options_.grace) crew_.kill_older_than({}, Killed::stopped);
  }

  void see_to(const Ended& ended) {
    const std::string& id = id_of(ended.trial);
    if (ended.report) {
      account_.enter(ended.trial, *ended.report);
      learn_pace(ended);
      if (ended.report->status == Status::interrupted) return give_up(id);
    } else {
      time_left_.drop(ended.trial);
      if (!account_.enter_if_finished(ended.trial) && !enter_death(ended)) return;
    }
    attempts_.end(id);
    if (finished(store_.find(id)->status)) forget_checkpoint(checkpoint_path(checkpoints(), id));
    claims_.release(id);
  }
  /// Whether the trial has failed by it; else it is to be run again.
  bool enter_death(const Ended& ended) {
    const std::string& id = id_of(ended.trial);
    for (const auto& inner : {store_.trial_path(id).parent_path(), checkpoints()}) remove_leftovers(inner);
    if (ended.killed == Killed::stopped) return give_up(id), false;
    if (ended.killed == Killed::no && !is_guilty(ended))
      return expect(ended.trial), suspect(ended.trial), false;
    account_.enter_failed(ended.trial, reason(ended), attempts_.start(id));
    return true;
  }
  /// From trials that were trained whole: others say less of what one takes.
  void learn_pace(const Ended& ended) {
    if (ended.report->status != Status::done) {
      time_left_.drop(ended.trial);
      if (ended.report->status == Status::interrupted)
        time_left_.expect(ended.trial, config_of(ended.trial), shares_.at(ended.trial));
      return;
    }
    pace_.add(config_of(ended.trial), ended.report->seconds);
    time_left_.finish(ended.trial, crew_.now());
  }
  void give_up(const std::string& id) {
    attempts_.give_up(id);
    claims_.release(id);
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
    if (failure_ || account_.lost() > 0 || account_.tally().ran + account_.by_others() < to_run_)
      return stopped_code;
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
  std::vector<std::string> ids_ = plan_.ids();
  std::int64_t to_run_ = 0;
  std::set<std::size_t> suspected_{};                  ///< of which a worker has crashed
  std::map<std::size_t, std::string> old_failures_{};  ///< those that are to be tried again: their ends
  Claims claims_;
  Account account_;
  Attempts attempts_;
  Crew crew_;
  std::map<std::size_t, double> shares_{};  ///< of trials, that are still to be run
  Pace pace_;
  TimeLeft time_left_;
  Schedule schedule_;
  std::vector<std::size_t> elsewhere_{};  ///< trials that other processes had claimed
  std::int64_t running_elsewhere_ = 0;
  double next_look_ = 0;
  std::exception_ptr failure_;
  std::optional<double> asked_{};
};

}  // namespace

RunResult run(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options) {
  require_scheme(store);
  return Runner(keys, plan, store, options).run();
}

}  // namespace headlab
