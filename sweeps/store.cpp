#include "sweeps/store.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

constexpr const char *isa_column = "provenance.instruction_set", *end_column = "provenance.end";

template <class T>
T value(const hdf5::Values& values, const char* name, const T& otherwise) {
  const auto i = values.find(name);
  const T* found = i == values.end() ? nullptr : std::get_if<T>(&i->second);
  return found ? *found : otherwise;
}

Stored stored(Status status, std::string message, const hdf5::Values& facts) {
  return {.status = status,
          .message = std::move(message),
          .seconds = value<double>(facts, "seconds", std::nan("")),
          .scheme = value<std::int64_t>(facts, "result_scheme", 0)};
}
Stored stored(const TrialRecord& t) {
  Stored known = stored(t.status, t.message, t.facts);
  known.instruction_set = value<std::string>(t.provenance, "instruction_set", "");
  known.end = value<std::string>(t.provenance, "end", "");
  return known;
}

bool is_there(const path& file) {
  std::error_code unknown;
  return std::filesystem::exists(std::filesystem::symlink_status(file, unknown));
}

/// What a folder holds, sorted; nothing if it is no folder. DamagedError if it cannot be read.
std::vector<path> entries(const path& folder) {
  std::error_code error;
  std::vector<path> all;
  if (!std::filesystem::is_directory(folder, error)) return all;
  std::filesystem::directory_iterator i(folder, error);
  for (; !error && i != std::filesystem::directory_iterator(); i.increment(error)) all.push_back(i->path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw DamagedError(fmt::format("{}: cannot be read: {}", folder.native(), error.message()));
  std::ranges::sort(all);
  return all;
}

/// What f reads; a failure of the system, as at a folder in the place of a file, counts as damage.
template <class F>
auto readable(const F& f) try {
  return f();
} catch (const std::system_error& e) {
  throw DamagedError(e.what());
}

}  // namespace

path trial_path(const path& folder, const std::string& id) {
  return folder / "trials" / id.substr(0, 2) / (id + ".h5");
}

Store::Store(path folder) : folder_(std::move(folder)) { refresh(); }

/// A file that is not met was removed after results.h5, with its trial, took its place: then that has changed
/// since it was read, and all is read again.
void Store::refresh() {
  const std::map<std::string, Stored> before = std::move(trials_);
  do {
    stamp_ = stamp();
    trials_.clear(), order_.clear(), specification_.clear(), planned_ = 0;
    if (is_there(results_path())) read_results_file();
    for (const path& inner : entries(folder_ / "trials"))
      for (const path& file : entries(inner)) {
        if (file.extension() != ".h5") continue;
        const auto known = before.find(file.stem());
        if (known != before.end() && !known->second.folded && finished(known->second.status))
          trials_.insert(*known);  // such a file does not change
        read_loose_file(file);
      }
  } while (stamp_ != stamp());
  lost_ += std::ranges::count_if(before, [this](const auto& t) { return !trials_.contains(t.first); });
  count_unfolded();
}

Store::Stamp Store::stamp() const {
  struct stat s{};
  if (::stat(results_path().c_str(), &s) < 0) return {};
  return {static_cast<std::int64_t>(s.st_dev), static_cast<std::int64_t>(s.st_ino), s.st_size,
          s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

void Store::count_unfolded() {
  unfolded_ =
      std::ranges::count_if(trials_, [](const auto& t) { return t.second.loose && !t.second.folded; });
}

void Store::put(const std::string& id, const Stored& now) {
  Stored& known = trials_[id];
  unfolded_ += static_cast<int>(now.loose && !now.folded) - static_cast<int>(known.loose && !known.folded);
  known = now;
}

void Store::read_results_file() try {
  const Summaries all = readable([&] {
    return read_summaries(results_path(), {"message", "seconds", "result_scheme", isa_column, end_column});
  });
  for (const Summary& t : all.trials) {
    trials_[t.id] = stored(t.status, value<std::string>(t.values, "message", ""), t.values);
    trials_[t.id].folded = true;
    trials_[t.id].instruction_set = value<std::string>(t.values, isa_column, "");
    trials_[t.id].end = value<std::string>(t.values, end_column, "");
    order_.push_back(t.id);
  }
  specification_ = all.specification;
  planned_ = value<std::int64_t>(all.counts, "planned", 0);
} catch (const DamagedError& e) {
  throw DamagedError(fmt::format(
      "{}; put back a copy of it, or move it away and run its sweep again: what has no file in {} "
      "is trained again",
      e.what(), (folder_ / "trials").native()));
}

void Store::read_loose_file(const path& file) {
  const std::string id = file.stem();
  if (const auto known = trials_.find(id); known != trials_.end() && finished(known->second.status)) {
    known->second.loose = true;  // what folding left; it compares the two
    return;
  }
  if (is_damaged(id)) return;
  try {
    const TrialRecord t = readable([&] { return read_trial(file); });
    if (t.id != id) throw DamagedError(fmt::format("{}: is trial {}", file.native(), t.id));
    if (file != trial_path(id))
      throw DamagedError(fmt::format("{}: belongs in {}", file.native(), trial_path(id).native()));
    note(id, stored(t));
  } catch (const DamagedError& e) {
    if (is_there(file)) mark_damaged(id, e.what());  // else it has been folded meanwhile
  }
}

void Store::mark_damaged(const std::string& id, const std::string& line) {
  damaged_.push_back(line + "; move it away and run its sweep again: its trial is trained again if need be");
  damaged_ids_[id] = damaged_.back();
}

const Stored* Store::find(const std::string& id) const {
  const auto i = trials_.find(id);
  return i == trials_.end() ? nullptr : &i->second;
}

void Store::note(const std::string& id, const Stored& known) {
  Stored loose = known;
  loose.loose = true;
  put(id, loose);
}

const Stored* Store::find_now(const std::string& id) {
  const Stored* known = find(id);
  if (known != nullptr && finished(known->status)) return known;
  if (is_there(trial_path(id))) read_loose_file(trial_path(id));
  known = find(id);
  if ((known == nullptr || !finished(known->status)) && stamp_ != stamp()) refresh();
  return find(id);
}

std::vector<std::string> Store::loose_unfinished() const {
  std::vector<std::string> ids;
  for (const auto& [id, known] : trials_)
    if (known.loose && !finished(known.status)) ids.push_back(id);
  return ids;
}

TrialRecord Store::read(const std::string& id) const {
  const Stored& known = trials_.at(id);
  if (!known.folded) return read_trial(trial_path(id));
  if (auto trial = find_trial(results_path(), id)) return std::move(*trial);
  throw DamagedError(fmt::format("{}: trial {} has gone", results_path().native(), id));
}

std::vector<TrialRecord> Store::read_all() const {
  std::vector<TrialRecord> all;
  if (!order_.empty()) all = read_results(results_path()).trials;
  std::erase_if(all, [&](const TrialRecord& t) { return !trials_.at(t.id).folded; });
  for (const auto& [id, known] : trials_)
    if (!known.folded) all.push_back(read_trial(trial_path(id)));
  return all;
}

void Store::add(const TrialRecord& trial) {
  write_trial(trial_path(trial.id), trial);
  note(trial.id, stored(trial));
}

void Store::fold(const SweepPlan& plan, bool keep, const std::map<std::string, double>& seconds_writing) {
  const Folding all = folding(plan, keep, seconds_writing);
  note(all, headlab::fold(all.results, all.files, all.specification, all.plan, all.seconds_writing), plan,
       keep);
}

Folding Store::folding(const SweepPlan& plan, bool keep, const std::map<std::string, double>& seconds_writing,
                       const std::set<std::string>& busy) const {
  Folding all{results_path(), {}, plan.specification.text, plan.ids(), seconds_writing};
  for (const auto& [id, known] : trials_)
    if (known.loose && !is_damaged(id) && !(keep && known.folded) && !busy.contains(id))
      all.files.push_back(trial_path(id));
  return all;
}

void Store::note(const Folding& folding, const Folded& folded, const SweepPlan& plan, bool keep) {
  for (const path& file : folded.safe) {
    const auto found = trials_.find(file.stem());
    if (found == trials_.end()) continue;  // lost meanwhile
    Stored& known = found->second;
    known.folded = true;
    if (keep) continue;
    std::filesystem::remove(file);
    std::error_code not_empty;
    std::filesystem::remove(file.parent_path(), not_empty);
    known.loose = false;
  }
  count_unfolded();
  remember(plan);
  const std::set<path> safe(folded.safe.begin(), folded.safe.end());
  for (std::size_t d = 0; const path& file : folding.files)
    if (!safe.contains(file)) mark_damaged(file.stem(), folded.damaged.at(d++));
}

void Store::remember(const SweepPlan& plan) {
  order_.clear();
  for (const PlannedTrial& t : plan.trials)
    if (const Stored* known = find(t.id); known != nullptr && known->folded) order_.push_back(t.id);
  specification_ = plan.specification.text;
  planned_ = std::ssize(plan.trials);
}

bool Store::is_folded(const SweepPlan& plan) const {
  std::vector<std::string> there;
  for (const PlannedTrial& t : plan.trials)
    if (trials_.contains(t.id)) there.push_back(t.id);
  return there.size() <= order_.size() && std::ranges::equal(there, std::span(order_).first(there.size())) &&
         specification_ == plan.specification.text && planned_ == std::ssize(plan.trials) &&
         std::ranges::none_of(trials_, [](const auto& t) { return t.second.loose && !t.second.folded; });
}

void require_scheme(const Store& store) {
  for (const auto& [id, known] : store.trials())
    require(
        known.scheme == result_scheme,
        "{}: trial {} was made under result scheme {}, this headlab gives other numbers, {}: choose another "
        "--out, or go on with the version that made it",
        store.folder().native(), id, known.scheme, result_scheme);
}

Counts count(const SweepPlan& plan, const Store& store) { return count(plan, store.trials()); }

Counts count(const SweepPlan& plan, const std::map<std::string, Stored>& trials) {
  Counts c;
  std::int64_t there = 0;
  for (const PlannedTrial& t : plan.trials) {
    const auto found = trials.find(t.id);
    const Stored* known = found == trials.end() ? nullptr : &found->second;
    there += known != nullptr;
    ++c.planned;
    if (known == nullptr || known->status == Status::interrupted)
      ++c.pending;
    else
      ++(known->status == Status::done ? c.done : known->status == Status::diverged ? c.diverged : c.failed);
  }
  c.others = std::ssize(trials) - there;
  return c;
}

std::string summary(const Counts& c, const path& folder) {
  std::vector<std::string> of_those;
  if (c.diverged > 0) of_those.push_back(grouped(c.diverged) + " diverged");
  if (c.failed > 0) of_those.push_back(grouped(c.failed) + " failed");
  std::string text = fmt::format(
      "plan {}: {} there{}, {} new", grouped(c.planned), grouped(c.planned - c.pending),
      of_those.empty() ? "" : fmt::format(" ({})", fmt::join(of_those, ", ")), grouped(c.pending));
  if (c.others > 0) text += fmt::format("; {} holds {} others", folder.native(), grouped(c.others));
  return text;
}

}  // namespace headlab
