#include "sweeps/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/config/write.hpp"
#include "core/log/results_collection.hpp"
#include "sweeps/record.hpp"

namespace headlab {
namespace {

using std::filesystem::path;

bool is_there(const path& p) {
  std::error_code unknown;
  return std::filesystem::exists(std::filesystem::symlink_status(p, unknown));
}

/// What a folder holds: trial files first, so that what another process folds meanwhile is met in results.h5.
std::vector<path> files_of(const path& source) {
  std::error_code error;
  if (!std::filesystem::is_directory(source, error)) return {source};
  std::vector<path> files;
  for (std::filesystem::recursive_directory_iterator i(source / "trials", error), end; !error && i != end;
       i.increment(error))
    if (i->path().extension() == ".h5") files.push_back(i->path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw DamagedError(fmt::format("{}: cannot be read: {}", source.native(), error.message()));
  std::ranges::sort(files);
  if (is_there(source / "results.h5")) files.push_back(source / "results.h5");
  return files;
}

class Merger {
 public:
  Merger(const Keys& keys, const Merge& asked, const SweepPlan& plan)
      : keys_(keys), asked_(asked), plan_(plan), all_(asked.bounds) {}

  Merged merge() {
    add(asked_.folder);
    own_ = read_;
    for (const path& source : asked_.sources) add(source);
    require(!all_.ids().empty() || !merged_.faults.empty(), "{}: there is nothing to merge",
            asked_.folder.native());
    note_instruction_sets();
    find_gap();
    if (merged_.faults.empty()) write();
    return std::move(merged_);
  }

 private:
  void add(const path& source) try {
    merged_.sources.push_back({source});
    for (const path& file : files_of(source)) read(file);
  } catch (const DamagedError& e) {
    merged_.faults.emplace_back(e.what());
  }

  void read(const path& file) try {
    std::int64_t of_other_scheme = 0, scheme = 0;
    std::vector<std::string> faults;
    const RecordFile records = open_records(file, asked_.seal, asked_.bounds.block);
    all_.open(file, records.record, records.size > 1);
    for (std::size_t row = 0; row < records.size; ++row) {
      const TrialRecord t = records.record(row);
      const std::int64_t own = scheme_of(t);
      if (own != result_scheme)
        ++of_other_scheme, scheme = own;
      else
        keep(t, row, file, faults);
    }
    read_.push_back(file);
    std::ranges::move(faults, std::back_inserter(merged_.faults));
    if (of_other_scheme > 0)
      merged_.faults.push_back(
          fmt::format("{}: made under result scheme {}, this headlab gives other numbers, {}: {} trials",
                      file.native(), scheme, result_scheme, grouped(of_other_scheme)));
    if (!records.sealed)
      merged_.notes.push_back(file.native() + ": has no seal; what it says is taken as it is");
  } catch (const DamagedError& e) {
    if (is_there(file)) merged_.faults.emplace_back(e.what());  // else it has been folded meanwhile
  }

  void keep(const TrialRecord& t, std::size_t row, const path& file, std::vector<std::string>& faults) try {
    if (asked_.seal == Seal::may_be_missing) require_own_id(t, file);
    if (const auto set = t.provenance.find("instruction_set"); set != t.provenance.end())
      ++instruction_sets_[std::get<std::string>(set->second)];
    const bool is_new = !all_.ids().contains(t.id);
    ++merged_.sources.back().trials;
    all_.add(t, row);
    merged_.sources.back().added += is_new;
  } catch (const DamagedError& e) {
    faults.emplace_back(e.what());
  }

  static std::int64_t scheme_of(const TrialRecord& t) {
    const auto scheme = t.facts.find("result_scheme");
    const auto* n = scheme == t.facts.end() ? nullptr : std::get_if<std::int64_t>(&scheme->second);
    return n != nullptr ? *n : 0;
  }

  void require_own_id(const TrialRecord& t, const path& file) const try {
    const Config config = resolve(keys_, {read_toml(t.configuration, "configuration")}).config;
    if (id(keys_, config) != t.id)
      throw DamagedError(fmt::format("{}: trial {} has the configuration of trial {}", file.native(),
                                     visible(t.id), id(keys_, config)));
  } catch (const ConfigError& e) {
    throw DamagedError(fmt::format("{}: trial {}: {}", file.native(), visible(t.id), e.what()));
  }

  void note_instruction_sets() {
    if (instruction_sets_.size() < 2) return;
    std::vector<std::string> each;
    for (const auto& [set, n] : instruction_sets_) each.push_back(fmt::format("{} with {}", grouped(n), set));
    merged_.notes.push_back(
        fmt::format("trials were made with more than one instruction set, {}: one is the "
                    "same bits within one only",
                    fmt::join(each, ", ")));
  }

  void find_gap() {
    constexpr std::size_t most_named = 5;
    std::vector<std::string> missing;
    for (const PlannedTrial& t : plan_.trials)
      if (!all_.ids().contains(t.id) || all_.status(t.id) == Status::interrupted) missing.push_back(t.id);
    if (missing.empty()) return;
    const std::span first(missing.begin(), std::min(missing.size(), most_named));
    std::string line =
        fmt::format("{}: {} of {} planned trials are nowhere or unfinished: {}{}", asked_.folder.native(),
                    grouped(std::ssize(missing)), grouped(std::ssize(plan_.trials)), fmt::join(first, ", "),
                    first.size() < missing.size() ? ", ..." : "");
    if (asked_.partial)
      merged_.notes.push_back(std::move(line));
    else
      merged_.faults.push_back(line + "; run their shards again, or merge what is there with --partial");
  }

  void write() {
    std::vector<std::string> ids;
    for (const PlannedTrial& t : plan_.trials) ids.push_back(t.id);
    all_.write(asked_.folder / "results.h5", ids, plan_.specification.text);
    for (const path& file : own_) {
      if (file == asked_.folder / "results.h5") continue;
      std::filesystem::remove(file);
      std::error_code not_empty;
      std::filesystem::remove(file.parent_path(), not_empty);
    }
  }

  const Keys& keys_;
  const Merge& asked_;
  const SweepPlan& plan_;
  Collection all_;
  Merged merged_;
  std::vector<path> read_, own_;                          ///< files, and those of the folder itself
  std::map<std::string, std::int64_t> instruction_sets_;  ///< trials
};

}  // namespace

Merged merge(const Keys& keys, const Merge& asked, const SweepPlan& plan) {
  return Merger(keys, asked, plan).merge();
}

}  // namespace headlab
