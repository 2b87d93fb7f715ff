#include <fmt/format.h>

#include <algorithm>

#include "core/log/results_file.hpp"
#include "core/log/results_stack.hpp"

namespace headlab {
namespace {

/// How many rows are parts of their own before they are stacked.
constexpr std::size_t batch = 256;

bool finished(Status s) { return s == Status::done || s == Status::diverged; }

bool same_results(TrialRecord a, TrialRecord b) {
  for (TrialRecord* t : {&a, &b}) {
    t->provenance.clear();
    std::erase_if(t->facts, [](const auto& fact) { return fact.first.starts_with("seconds"); });
  }
  return hdf5::identical(to_file(a), to_file(b));
}

/// Trials of results.h5 and of trial files as rows of parts: the first is results.h5.
class Collection {
 public:
  explicit Collection(hdf5::File results) {
    parts_.push_back(std::move(results));
    learn(parts_[0]);
    const Rows rows(parts_[0]);
    for (std::size_t i = 0; i < rows.size(); ++i) insert(rows[i], {0, i});
  }

  /// DamagedError if it is another trial's file, another finished record with other results is there, or it
  /// cannot stand in one file with the others.
  void add(const TrialRecord& trial, const std::filesystem::path& file) {
    if (trial.id != file.stem()) throw DamagedError(fmt::format("{}: is trial {}", file.native(), trial.id));
    const auto there = index_.find(trial.id);
    if (there != index_.end() && finished(trials_[there->second].status)) {
      const Place at = trials_[there->second].place;
      if (finished(trial.status) && !same_results(trial, Rows(parts_[at.part])[at.row]))
        throw DamagedError(fmt::format("{}: other results than in another file", file.native()));
      return;
    }
    hdf5::File row = to_row(trial);
    if (const hdf5::Variable* odd = misfit(row))
      throw DamagedError(fmt::format("{}: {} is not of the type or shape that it has in other trials",
                                     file.native(), odd->name));
    learn(row);
    if (parts_.size() - packed_ == batch) pack();
    parts_.push_back(std::move(row));
    insert(trial, {parts_.size() - 1, 0});
  }

  /// The rows of the plan in its order, then the others in that in which they came.
  hdf5::File whole(const std::vector<std::string>& plan) && {
    std::unordered_map<std::string_view, std::size_t> ranks;
    for (const std::string& id : plan) ranks.emplace(id, ranks.size());
    const auto rank = [&](const Trial& t) {
      const auto i = ranks.find(t.id);
      return i == ranks.end() ? plan.size() : i->second;
    };
    std::ranges::stable_sort(trials_, {}, rank);
    std::vector<Place> order;
    for (const Trial& t : trials_) order.push_back(t.place);
    hdf5::File file = stacked(std::move(parts_), order);
    check(file);
    put_plan(file, plan.size(), std::ranges::lower_bound(trials_, plan.size(), {}, rank) - trials_.begin());
    return file;
  }

 private:
  using Kind = std::pair<std::size_t, std::vector<std::string>>;  // type of the data, dimensions
  struct Trial {
    std::string id;
    Status status;
    Place place;
    std::size_t hash;  ///< of its record
  };

  static Kind kind(const hdf5::Variable& v) { return {v.data.index(), v.dimensions}; }
  void learn(const hdf5::File& part) {
    for (const hdf5::Variable& v : part.variables) kinds_.emplace(v.name, kind(v));
  }
  /// The first variable that is unlike its namesake in another part, or null.
  const hdf5::Variable* misfit(const hdf5::File& part) const {
    const auto unlike = [&](const hdf5::Variable& v) {
      const auto known = kinds_.find(v.name);
      return known != kinds_.end() && known->second != kind(v);
    };
    const auto found = std::ranges::find_if(part.variables, unlike);
    return found == part.variables.end() ? nullptr : &*found;
  }

  void insert(const TrialRecord& trial, Place place) {
    const auto [i, is_new] = index_.emplace(trial.id, trials_.size());
    Trial t{trial.id, trial.status, place, hdf5::hash(to_file(trial))};
    if (is_new)
      trials_.push_back(std::move(t));
    else
      trials_[i->second] = std::move(t);
  }

  void pack() {
    std::vector<Place> order;
    for (std::size_t part = packed_; part < parts_.size(); ++part) order.push_back({part - packed_, 0});
    for (Trial& t : trials_)
      if (t.place.part >= packed_) t.place = {packed_, t.place.part - packed_};
    const auto first = parts_.begin() + std::ptrdiff_t(packed_);
    std::vector<hdf5::File> rows(std::make_move_iterator(first), std::make_move_iterator(parts_.end()));
    parts_.erase(first, parts_.end());
    parts_.push_back(stacked(std::move(rows), order));
    packed_ = parts_.size();
  }

  void check(const hdf5::File& file) const {
    const Rows rows(file);
    for (std::size_t i = 0; i < trials_.size(); ++i)
      if (hdf5::hash(to_file(rows[i])) != trials_[i].hash)
        throw std::logic_error(fmt::format("trial {}: results.h5 would not give it back", trials_[i].id));
  }

  void put_plan(hdf5::File& file, std::size_t planned, std::ptrdiff_t there) const {
    std::vector<std::int8_t> in_plan(trials_.size(), 0);
    std::fill_n(in_plan.begin(), there, std::int8_t{1});
    std::erase_if(file.variables, [](const hdf5::Variable& v) { return v.name == "planned"; });
    file.variables.push_back({"planned",
                              {"trial"},
                              std::move(in_plan),
                              {{"units", "1"}, {"long_name", "whether the specification has it"}}});
    std::int64_t pending = std::int64_t(planned);
    for (const Status s : {Status::done, Status::diverged, Status::failed}) {
      const auto n = std::count_if(trials_.begin(), trials_.begin() + there,
                                   [&](const Trial& t) { return t.status == s; });
      file.attributes["count." + to_string(s)] = std::int64_t(n);
      pending -= n;
    }
    file.attributes["count.planned"] = std::int64_t(planned);
    file.attributes["count.pending"] = pending;
    file.attributes["count.others"] = std::ssize(trials_) - there;
  }

  std::unordered_map<std::string, Kind> kinds_;  ///< by name of the variable
  std::vector<hdf5::File> parts_;
  std::size_t packed_ = 1;  ///< parts from here on have one row each
  std::vector<Trial> trials_;
  std::unordered_map<std::string, std::size_t> index_;  ///< of trials_, by id
};

}  // namespace

Folded fold(const std::filesystem::path& path, const std::vector<std::filesystem::path>& trial_files,
            const std::string& specification, const std::vector<std::string>& plan,
            const std::map<std::string, double>& seconds_writing) {
  Collection all = reading(path, [&] {
    return Collection(std::filesystem::exists(path) ? read_sealed(path, results_format) : hdf5::File());
  });
  Folded folded;
  for (const auto& file : trial_files) try {
      TrialRecord trial = read_trial(file);
      if (const auto took = seconds_writing.find(trial.id); took != seconds_writing.end())
        trial.provenance["seconds_writing"] = took->second;
      all.add(trial, file);
      folded.safe.push_back(file);
    } catch (const std::runtime_error& e) {  // DamagedError, or the system's if it cannot be read
      folded.damaged.emplace_back(e.what());
    }
  hdf5::File file = std::move(all).whole(plan);
  file.attributes["coordinates"] = coordinates;
  file.attributes["specification"] = hdf5::readable(specification);
  write_sealed(path, results_format, std::move(file));
  return folded;
}

}  // namespace headlab
