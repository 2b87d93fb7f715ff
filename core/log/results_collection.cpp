#include "core/log/results_collection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headlab {
namespace {

/// How many rows are parts of their own before they are stacked.
constexpr std::size_t batch = 256;

}  // namespace

std::string first_difference(TrialRecord a, TrialRecord b) {
  for (TrialRecord* t : {&a, &b}) {
    t->provenance.clear();
    std::erase_if(t->facts, [](const auto& fact) { return fact.first.starts_with("seconds"); });
  }
  const hdf5::File x = to_file(a), y = to_file(b);
  for (const hdf5::Variable& v : x.variables)
    if (const hdf5::Variable* w = y.find(v.name); w == nullptr || !identical(v, *w)) return v.name;
  for (const hdf5::Values* values : {&x.attributes, &y.attributes})
    for (const auto& [name, value] : *values)
      if (!x.attributes.contains(name) || !y.attributes.contains(name) ||
          x.attributes.at(name) != y.attributes.at(name))
        return name;
  return hdf5::identical(x, y) ? "" : "a table";
}

Collection::Collection(hdf5::File results, const std::filesystem::path& from) {
  parts_.push_back(std::move(results));
  learn(parts_[0]);
  const Rows rows(parts_[0]);
  for (std::size_t i = 0; i < rows.size(); ++i) insert(rows[i], {0, i}, from);
}

bool Collection::add(const TrialRecord& trial, const std::filesystem::path& from) {
  const auto there = index_.find(trial.id);
  if (there != index_.end() && finished(trials_[there->second].status)) {
    if (!finished(trial.status)) return false;
    const Trial& known = trials_[there->second];
    const std::string name = first_difference(trial, Rows(parts_[known.place.part])[known.place.row]);
    if (!name.empty())
      throw DamagedError(fmt::format("{}: other results than in {}: trial {}, {} is the first that differs",
                                     from.native(), known.from.native(), trial.id, name));
    return false;
  }
  hdf5::File row = to_row(trial);
  if (const hdf5::Variable* odd = misfit(row))
    throw DamagedError(fmt::format("{}: {} is not of the type or shape that it has in other trials",
                                   from.native(), odd->name));
  learn(row);
  if (parts_.size() - packed_ == batch) pack();
  parts_.push_back(std::move(row));
  insert(trial, {parts_.size() - 1, 0}, from);
  return true;
}

hdf5::File Collection::whole(const std::vector<std::string>& plan, const std::string& specification) && {
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
  file.attributes["coordinates"] = coordinates;
  file.attributes["specification"] = hdf5::readable(specification);
  return file;
}

void Collection::learn(const hdf5::File& part) {
  for (const hdf5::Variable& v : part.variables) kinds_.emplace(v.name, kind(v));
}

/// The first variable that is unlike its namesake in another part, or null.
const hdf5::Variable* Collection::misfit(const hdf5::File& part) const {
  const auto unlike = [&](const hdf5::Variable& v) {
    const auto known = kinds_.find(v.name);
    return known != kinds_.end() && known->second != kind(v);
  };
  const auto found = std::ranges::find_if(part.variables, unlike);
  return found == part.variables.end() ? nullptr : &*found;
}

void Collection::insert(const TrialRecord& trial, Place place, const std::filesystem::path& from) {
  const auto [i, is_new] = index_.emplace(trial.id, trials_.size());
  Trial t{trial.id, trial.status, place, hdf5::hash(to_file(trial)), from};
  if (is_new)
    trials_.push_back(std::move(t));
  else
    trials_[i->second] = std::move(t);
}

void Collection::pack() {
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

void Collection::check(const hdf5::File& file) const {
  const Rows rows(file);
  for (std::size_t i = 0; i < trials_.size(); ++i)
    if (hdf5::hash(to_file(rows[i])) != trials_[i].hash)
      throw std::logic_error(fmt::format("trial {}: results.h5 would not give it back", trials_[i].id));
}

void Collection::put_plan(hdf5::File& file, std::size_t planned, std::ptrdiff_t there) const {
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

}  // namespace headlab
