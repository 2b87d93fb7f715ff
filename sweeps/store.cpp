#include "sweeps/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <fstream>
#include <span>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/log/atomic_file.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

constexpr const char* isa_column = "provenance.instruction_set";

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
  return known;
}

/// What a folder holds, sorted; nothing if it is no folder. DamagedError if it cannot be read.
std::vector<path> entries(const path& folder) {
  std::error_code error;
  std::vector<path> all;
  if (!std::filesystem::is_directory(folder, error)) return all;
  std::filesystem::directory_iterator i(folder, error);
  for (; !error && i != std::filesystem::directory_iterator(); i.increment(error)) all.push_back(i->path());
  if (error) throw DamagedError(fmt::format("{}: cannot be read: {}", folder.native(), error.message()));
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

Store::Store(path folder) : folder_(std::move(folder)) {
  std::error_code unknown;
  if (std::filesystem::exists(std::filesystem::symlink_status(results_path(), unknown))) read_results_file();
  for (const path& inner : entries(folder_ / "trials"))
    for (const path& file : entries(inner))
      if (file.extension() == ".h5") read_loose_file(file);
}

void Store::read_results_file() try {
  const Summaries all = readable(
      [&] { return read_summaries(results_path(), {"message", "seconds", "result_scheme", isa_column}); });
  for (const Summary& t : all.trials) {
    trials_[t.id] = stored(t.status, value<std::string>(t.values, "message", ""), t.values);
    trials_[t.id].folded = true;
    trials_[t.id].instruction_set = value<std::string>(t.values, isa_column, "");
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
  try {
    const TrialRecord t = readable([&] { return read_trial(file); });
    if (t.id != id) throw DamagedError(fmt::format("{}: is trial {}", file.native(), t.id));
    if (file != trial_path(id))
      throw DamagedError(fmt::format("{}: belongs in {}", file.native(), trial_path(id).native()));
    trials_[id] = stored(t);
    trials_[id].loose = true;
  } catch (const DamagedError& e) {
    mark_damaged(id, e.what());
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
  trials_[id] = known;
  trials_[id].loose = true;
}

void Store::look_for(const std::string& id) {
  std::error_code unknown;
  if (std::filesystem::exists(trial_path(id), unknown)) read_loose_file(trial_path(id));
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

std::int64_t Store::forget_lost() {
  std::error_code unknown;
  const auto there = [&](const path& file) {
    return std::filesystem::exists(std::filesystem::symlink_status(file, unknown));
  };
  const bool results = there(results_path());
  for (auto& [id, known] : trials_) {
    known.folded = known.folded && results;
    known.loose = known.loose && there(trial_path(id));
  }
  if (!results) order_.clear(), specification_.clear();
  return static_cast<std::int64_t>(
      std::erase_if(trials_, [](const auto& t) { return !t.second.folded && !t.second.loose; }));
}

bool Store::wants_folding() const {
  const auto loose =
      std::ranges::count_if(trials_, [](const auto& t) { return t.second.loose && !t.second.folded; });
  return is_crowded(loose, std::ssize(trials_));
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

namespace {

/// Who says in the lock's file that he holds it.
std::string holder(const path& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text);
  return text.empty() ? fmt::format("`fuser {}` tells which", file.native()) : text;
}

/// Leaves word of this process in the file of a lock that it holds; if it cannot, the lock holds all the
/// same.
void sign(int descriptor) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format("process {} on {}\n", ::getpid(), host.data());
  if (::ftruncate(descriptor, 0) == 0)
    static_cast<void>(::pwrite(descriptor, text.data(), text.size(), 0) > 0);
}

}  // namespace

StoreLock::StoreLock(const path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const path file = folder / "lock";
  if (!error) {
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) error.assign(errno, std::generic_category());
  }
  if (no_space(error)) throw std::system_error(error, file.native() + ": cannot open");
  require(!error, "{:?}: not a folder that results can be written to: {}", folder.native(), error.message());
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) < 0) {
    ::close(descriptor_);
    throw DamagedError(
        fmt::format("{}: another headlab process is writing there, {}", folder.native(), holder(file)));
  }
  sign(descriptor_);
  remove_leftovers(folder);
  if (std::filesystem::is_directory(folder / "trials"))
    for (const auto& inner : std::filesystem::directory_iterator(folder / "trials"))
      if (inner.is_directory()) remove_leftovers(inner.path());
}
StoreLock::~StoreLock() { ::close(descriptor_); }

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
