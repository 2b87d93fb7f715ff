#include "sweeps/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>

#include "core/base/faults.hpp"
#include "core/base/numbers.hpp"
#include "core/base/stopwatch.hpp"
#include "core/base/text.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/crew.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

constexpr int damaged_code = 3, stopped_code = 75, failed_code = 1;

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

bool wanted(const RunOptions& options, const std::string& id) {
  return !options.only || options.only->contains(id);
}

class Silent : public Sink {
 public:
  explicit Silent(const Stop& asked) : asked_(asked) {}
  bool stop() override { return asked_(); }

 private:
  const Stop& asked_;
};

/// The thread that stores what the crew finishes.
class Runner {
 public:
  Runner(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options)
      : keys_(keys), plan_(plan), store_(store), options_(options) {}

  RunResult run() {
    const Counts before = count(plan_, store_);
    tally_ = {before.planned, before.done, before.diverged, before.failed};
    const std::vector<std::size_t> order = todo(plan_, store_, options_);
    to_run_ = std::ssize(order);
    for (const std::size_t i : order) tally_.cost_left += options_.cost(plan_.trials[i].config);
    {
      Crew crew(keys_, plan_, order, options_);
      while (crew.busy()) {
        if (const auto f = crew.next(std::chrono::milliseconds(100))) keep(*f);
        if (failure_) crew.stop();
        tally_.running = crew.running();
        if (options_.progress != nullptr) options_.progress->show(tally_);
      }
    }
    look_for_losses();
    if (!options_.stop()) guarded([&] { fold_at_end(); });
    tally_.running = 0;
    if (options_.progress != nullptr) options_.progress->finish(tally_);
    return result();
  }

 private:
  /// The first failure stops the sweep; what runs meanwhile is still stored, if it can be.
  template <class Action>
  void guarded(const Action& action) {
    try {
      action();
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void keep(const Finished& f) {
    const TrialRecord& t = f.record;
    if (t.status == Status::interrupted && failure_) return;
    guarded([&] {
      const Stored* before = store_.find(t.id);
      std::int64_t* old = before != nullptr ? counter(before->status) : nullptr;
      store_and_time(t);
      if (old != nullptr) --*old;
      std::int64_t* now = counter(t.status);
      if (now == nullptr) return;
      ++*now, ++tally_.ran;
      const double cost = options_.cost(plan_.trials[f.trial].config);
      tally_.cost_ran += cost, tally_.cost_left -= cost;
      if (t.status == Status::failed) failures_[t.message].push_back(t.id);
    });
    if (failure_ || !store_.wants_folding()) return;
    look_for_losses();
    guarded([&] { fold(); });
  }
  void store_and_time(const TrialRecord& t) {
    const Stopwatch watch(seconds_writing_[t.id] = 0);
    store_.add(t);
  }
  void fold() {
    store_.fold(plan_, options_.keep_trial_files, seconds_writing_);
    seconds_writing_.clear();
  }
  void look_for_losses() { lost_ += store_.forget_lost(); }
  void fold_at_end() {
    if (!failure_ && !store_.trials().empty() && !store_.is_folded(plan_)) fold();
  }
  std::int64_t* counter(Status status) {
    return status == Status::done       ? &tally_.done
           : status == Status::diverged ? &tally_.diverged
           : status == Status::failed   ? &tally_.failed
                                        : nullptr;
  }
  int exit_code() const {
    const bool failed = std::ranges::any_of(plan_.trials, [&](const PlannedTrial& t) {
      const Stored* known = store_.find(t.id);
      return known != nullptr && known->status == Status::failed && wanted(options_, t.id);
    });
    if (!store_.damaged().empty()) return damaged_code;
    if (failure_ || lost_ > 0 || tally_.ran < to_run_) return stopped_code;
    return failed ? failed_code : 0;
  }
  RunResult result() {
    RunResult r;
    r.counts = count(plan_, store_);
    r.ran = tally_.ran;
    for (const auto& [message, ids] : failures_)
      r.faults.push_back(ids.size() == 1 ? fmt::format("trial {}: {}", ids[0], message)
                                         : fmt::format("{} trials, {} is the first: {}",
                                                       grouped(std::ssize(ids)), ids[0], message));
    r.faults.insert(r.faults.end(), store_.damaged().begin(), store_.damaged().end());
    if (lost_ > 0)
      r.faults.push_back(fmt::format("{}: {} finished trials have gone while the sweep ran: run it again",
                                     store_.folder().native(), grouped(lost_)));
    if (failure_ && !disk_full(failure_)) std::rethrow_exception(failure_);
    if (failure_) r.faults.push_back(text_of(failure_));
    r.exit_code = exit_code();
    return r;
  }

  const Keys& keys_;
  const SweepPlan& plan_;
  Store& store_;
  const RunOptions& options_;
  Tally tally_;
  std::int64_t to_run_ = 0, lost_ = 0;
  std::map<std::string, std::vector<std::string>> failures_;  ///< ids by message
  std::map<std::string, double> seconds_writing_;             ///< by id, of trial files that are not folded
  std::exception_ptr failure_;
};

std::vector<std::string> words_of(const std::string& only) {
  std::vector<std::string> words;
  if (only.starts_with('@')) {
    std::ifstream in(only.substr(1));
    std::error_code unknown;
    require(in.good() && !std::filesystem::is_directory(only.substr(1), unknown),
            "--only: {} is not a file that can be read", visible(only.substr(1)));
    for (std::string word; in >> word;) words.push_back(word);
    require(!words.empty(), "--only: {} names no trial", only.substr(1));
  } else {
    for (const std::string_view word : split(only)) words.emplace_back(word);
  }
  return words;
}

}  // namespace

RunTrial silent_training(const Keys& keys) {
  return [&keys](const PlannedTrial& t, const Stop& stop) {
    Silent sink(stop);
    return record_of(keys, t.config, train(t.config, sink));
  };
}

RunResult run(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options) {
  require_scheme(store);
  return Runner(keys, plan, store, options).run();
}

std::vector<std::size_t> todo(const SweepPlan& plan, const Store& store, const RunOptions& options) {
  using Rank = std::tuple<bool, std::int64_t, double, std::size_t>;  // failed before, seed, -cost, place
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& t = plan.trials[i];
    const Stored* known = store.find(t.id);
    if (!wanted(options, t.id) || store.is_damaged(t.id) || (known != nullptr && finished(known->status)))
      continue;
    const bool failed = known != nullptr && known->status == Status::failed;
    ranks.emplace_back(failed, t.config.seed, -options.cost(t.config), i);
  }
  std::ranges::sort(ranks);
  std::vector<std::size_t> order;
  for (const Rank& rank : ranks) order.push_back(std::get<3>(rank));
  return order;
}

std::string full_id(const std::string& prefix, const std::vector<std::string>& ids) {
  std::vector<std::string> found;
  std::ranges::copy_if(ids, std::back_inserter(found),
                       [&](const std::string& id) { return id.starts_with(prefix); });
  require(!found.empty() && !prefix.empty(), "{}: no trial has such an id", visible(prefix));
  require(found.size() == 1, "{}: {} trials have ids that start so, {} and {} are two", prefix, found.size(),
          found[0], found.back());
  return found[0];
}

std::set<std::string> selected(const std::string& only, const SweepPlan& plan, const Store& store) {
  std::set<std::string> chosen;
  const std::vector<std::string> ids = plan.ids();
  if (only == "failed") {
    for (const std::string& id : ids)
      if (const Stored* known = store.find(id); known != nullptr && known->status == Status::failed)
        chosen.insert(id);
    return chosen;
  }
  Faults faults;
  for (const std::string& word : words_of(only)) try {
      chosen.insert(full_id(word, ids));
    } catch (const ConfigError& e) {
      faults.add(fmt::format("--only: {}", e.what()));
    }
  faults.raise();
  return chosen;
}

}  // namespace headlab
