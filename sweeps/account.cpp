#include "sweeps/account.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/stopwatch.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/record.hpp"
#include "sweeps/selection.hpp"

namespace headlab {

Account::Account(const Keys& keys, const SweepPlan& plan, Store& store, const RunOptions& options)
    : keys_(keys), plan_(plan), store_(store), options_(options) {
  const Counts before = count(plan_, store_);
  tally_ = {before.planned, before.done, before.diverged, before.failed};
}

Stored Account::known(std::size_t trial) const {
  const Stored* found = store_.find(plan_.trials[trial].id);
  return found != nullptr ? *found : Stored{.status = Status::interrupted};
}

void Account::enter(std::size_t trial, const Report& report) {
  raise(report.error, report.fault);
  const Stored before = known(trial);
  const auto isa = options_.provenance.find("instruction_set");
  store_.note(report.id, {.status = report.status,
                          .message = report.message,
                          .seconds = report.seconds,
                          .scheme = result_scheme,
                          .instruction_set =
                              isa != options_.provenance.end() ? std::get<std::string>(isa->second) : ""});
  seconds_writing_[report.id] = report.seconds_writing;
  count_in(trial, before);
}

bool Account::enter_if_finished(std::size_t trial) {
  const Stored before = known(trial);
  store_.look_for(plan_.trials[trial].id);
  if (!finished(known(trial).status)) return false;
  count_in(trial, before);
  return true;
}

void Account::enter_failed(std::size_t trial, const std::string& message, const std::string& start) {
  const Stored before = known(trial);
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
  count_in(trial, before);
}

void Account::count_in(std::size_t trial, const Stored& before) {
  const Stored now = known(trial);
  if (std::int64_t* old = counter(before.status)) --*old;
  std::int64_t* count = counter(now.status);
  if (count == nullptr) return;
  ++*count, ++tally_.ran;
  const double cost = options_.cost(plan_.trials[trial].config);
  tally_.cost_ran += cost, tally_.cost_left -= cost;
  count_failures(now.status, before.status);
  if (now.status == Status::failed) failures_[now.message].push_back(plan_.trials[trial].id);
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

void Account::fold_if_crowded(const std::set<std::string>& running) {
  if (folding_) return end_folding(std::chrono::milliseconds(0));
  if (!store_.wants_folding()) return;
  look_for_losses();
  begin_folding(running);
}
bool Account::is_folding(const std::string& id) const {
  return folding_ && std::ranges::count(folding_->folding().files, store_.trial_path(id)) > 0;
}
void Account::fold_at_end(const std::function<bool()>& stop) {
  for (bool last = false; !stop(); end_folding(std::chrono::milliseconds(100))) {
    if (folding_) continue;
    if (last || store_.trials().empty() || store_.is_folded(plan_)) return;
    begin_folding({});
    last = true;
  }
  stop_folding();
}

void Account::begin_folding(const std::set<std::string>& running) {
  folding_.emplace(options_.worker, Greeting{::getpid(), store_.folder(), {}},
                   store_.folding(plan_, options_.keep_trial_files, seconds_writing_, running));
}
void Account::end_folding(std::chrono::milliseconds patience) {
  const std::optional<Folded> folded = folding_->wait(patience);
  if (!folded) return;
  store_.note(folding_->folding(), *folded, plan_, options_.keep_trial_files);
  for (const auto& file : folded->safe) seconds_writing_.erase(file.stem());
  folding_.reset();
}
/// Halfway it has changed nothing.
void Account::stop_folding() {
  if (!folding_) return;
  folding_.reset();
  remove_leftovers(store_.folder());
}

std::vector<std::string> Account::faults() const {
  std::vector<std::string> all;
  for (const auto& [message, ids] : failures_)
    all.push_back(ids.size() == 1 ? fmt::format("trial {}: {}", ids[0], message)
                                  : fmt::format("{} trials, {} is the first: {}", grouped(std::ssize(ids)),
                                                ids[0], message));
  all.insert(all.end(), store_.damaged().begin(), store_.damaged().end());
  if (lost_ > 0)
    all.push_back(fmt::format("{}: {} finished trials have gone while the sweep ran: run it again",
                              store_.folder().native(), grouped(lost_)));
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
