#include "sweeps/account.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/base/numbers.hpp"
#include "core/base/stopwatch.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/record.hpp"
#include "sweeps/selection.hpp"

namespace headlab {
namespace {

/// What is missing counts as interrupted.
Status status_in(const Store& store, const std::string& id) {
  const Stored* known = store.find(id);
  return known != nullptr ? known->status : Status::interrupted;
}

}  // namespace

Account::Account(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options,
                 Claims& claims)
    : keys_(keys), plan_(plan), store_(store), options_(options), claims_(claims), lock_(store.folder()) {
  const Counts before = count(plan_, store_);
  tally_ = {before.planned, before.done, before.diverged, before.failed};
  for (const PlannedTrial& t : plan_.trials) counted_.push_back(status_in(store_, t.id));
}

void Account::enter(std::size_t trial, const Report& report) {
  raise(report.error, report.fault);
  const auto isa = options_.provenance.find("instruction_set");
  store_.note(report.id, {.status = report.status,
                          .message = report.message,
                          .seconds = report.seconds,
                          .scheme = result_scheme,
                          .instruction_set =
                              isa != options_.provenance.end() ? std::get<std::string>(isa->second) : ""});
  seconds_writing_[report.id] = report.seconds_writing;
  count_own(trial, counted_[trial]);
}

bool Account::enter_if_finished(std::size_t trial) {
  const Stored* now = store_.find_now(plan_.trials[trial].id);
  if (now == nullptr || !finished(now->status)) return false;
  count_own(trial, counted_[trial]);
  return true;
}

void Account::enter_others(std::size_t trial) {
  ++by_others_;
  count_in(trial);
}

void Account::enter_failed(std::size_t trial, const std::string& message, const std::string& start) {
  Outcome outcome;
  outcome.message = message;
  TrialRecord record = record_of(keys_, plan_.trials[trial].config, outcome);
  record.provenance = options_.provenance;
  record.provenance["start"] = start;
  record.provenance["end"] = timestamp();
  {
    const Stopwatch watch(seconds_writing_[record.id] = 0);
    store_.add(record);
  }
  count_own(trial, counted_[trial]);
}

/// Whether the trial has ended.
bool Account::count_in(std::size_t trial) {
  const std::string& id = plan_.trials[trial].id;
  if (std::int64_t* old = counter(counted_[trial])) --*old;
  counted_[trial] = status_in(store_, id);
  std::int64_t* count = counter(counted_[trial]);
  if (count == nullptr) return false;
  ++*count;
  if (counted_[trial] == Status::failed) failures_[store_.find(id)->message].push_back(id);
  return true;
}

void Account::count_own(std::size_t trial, Status before) {
  if (!count_in(trial)) return;
  ++tally_.ran;
  count_failures(counted_[trial], before);
}

/// What has failed before and fails again says nothing new of what trials share.
void Account::count_failures(Status now, Status before) {
  if (now != Status::failed) {
    failed_in_a_row_ = 0;
    return;
  }
  if (before != Status::failed) ++failed_in_a_row_;
  if (++failed_ >= options_.max_failures)
    too_many_ = fmt::format("stopped after {} failed trials, as --max-failures says", grouped(failed_));
  else if (failed_in_a_row_ >= most_failures_in_a_row)
    too_many_ = fmt::format("stopped after {} failed trials in a row", failed_in_a_row_);
}

std::int64_t* Account::counter(Status status) {
  return status == Status::done       ? &tally_.done
         : status == Status::diverged ? &tally_.diverged
         : status == Status::failed   ? &tally_.failed
                                      : nullptr;
}

void Account::fold_if_crowded() {
  if (folding_) return end_folding(std::chrono::milliseconds(0));
  if (store_.wants_folding()) begin_folding([this] { return store_.wants_folding(); });
}
bool Account::is_folding(const std::string& id) const { return claimed_.contains(id); }
void Account::fold_at_end(const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds patience{100};
  const auto wanted = [this] { return !store_.trials().empty() && !store_.is_folded(plan_); };
  for (bool tried = false; !stop();)
    if (folding_)
      end_folding(patience);
    else if (tried)
      return;
    else if (tried = begin_folding(wanted); !tried)
      std::this_thread::sleep_for(patience);
  stop_folding();
}

/// Whether the lock could be had. What another process has folded by then is not folded again.
bool Account::begin_folding(const std::function<bool()>& is_wanted) {
  if (!lock_.take()) return false;
  store_.refresh();
  if (is_wanted())
    folding_.emplace(options_.worker, Greeting{::getpid(), store_.folder(), {}},
                     store_.folding(plan_, options_.keep_trial_files, seconds_writing_, busy()),
                     lock_.descriptor());
  else
    lock_.release();
  return true;
}
/// Trials whose files may be replaced meanwhile; the claims of other unfinished ones are taken.
std::set<std::string> Account::busy() {
  std::set<std::string> ids = claims_.held();
  for (const std::string& id : store_.loose_unfinished())
    if (!ids.contains(id)) {
      if (claims_.take(id))
        claimed_.insert(id);
      else
        ids.insert(id);
    }
  return ids;
}
void Account::end_folding(std::chrono::milliseconds patience) {
  const std::optional<Folded> folded = folding_->wait(patience);
  if (!folded) return;
  store_.note(folding_->folding(), *folded, plan_, options_.keep_trial_files);
  for (const auto& file : folded->safe) seconds_writing_.erase(file.stem());
  release_folding();
}
/// Halfway it has changed nothing.
void Account::stop_folding() {
  if (!folding_) return;
  release_folding();
  remove_leftovers(store_.folder());
}
void Account::release_folding() {
  folding_.reset();
  for (const std::string& id : claimed_) claims_.release(id);
  claimed_.clear();
  lock_.release();
}

std::vector<std::string> Account::faults() const {
  std::vector<std::string> all;
  for (const auto& [message, ids] : failures_)
    all.push_back(ids.size() == 1 ? fmt::format("trial {}: {}", ids[0], message)
                                  : fmt::format("{} trials, {} is the first: {}", grouped(std::ssize(ids)),
                                                ids[0], message));
  all.insert(all.end(), store_.damaged().begin(), store_.damaged().end());
  if (lost() > 0)
    all.push_back(fmt::format("{}: {} finished trials have gone while the sweep ran: run it again",
                              store_.folder().native(), grouped(lost())));
  if (too_many_) all.push_back(*too_many_);
  return all;
}

bool Account::has_failures() const {
  return std::ranges::any_of(plan_.trials, [&](const PlannedTrial& t) {
    const Stored* known = store_.find(t.id);
    return known != nullptr && known->status == Status::failed && is_wanted(options_, t.id);
  });
}

}  // namespace headlab
