#include "core/log/results_collection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace headlab {
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

void Collection::open(const std::filesystem::path& from, Again again, bool many) {
  sources_.push_back({from, std::move(again), many});
}

bool Collection::add(TrialRecord trial, std::size_t row) {
  const auto there = index_.find(trial.id);
  const std::filesystem::path& from = sources_.back().path;
  hold(1);
  if (there != index_.end() && finished(trials_[there->second].status)) {
    if (!finished(trial.status)) return false;
    const Trial& known = trials_[there->second];
    hold(2);
    const std::string name = first_difference(trial, again(known));
    if (!name.empty())
      throw DamagedError(fmt::format("{}: other results than in {}: trial {}, {} is the first that differs",
                                     from.native(), sources_[known.source].path.native(), trial.id, name));
    return false;
  }
  const Trial t{trial.id, trial.status, sources_.size() - 1, row, shape_of(trial)};
  if (there == index_.end()) {
    index_.emplace(t.id, trials_.size());
    trials_.push_back(t);
  } else {
    trials_[there->second] = t;
  }
  kept_.erase(t.id);
  if (kept_.size() < bounds_.kept && !sources_.back().many) kept_.emplace(t.id, std::move(trial));
  return true;
}

/// Refuses what does not fit before anything of it is remembered.
std::size_t Collection::shape_of(const TrialRecord& trial) {
  std::string key = shape_key(trial);
  if (const auto known = shapes_.find(key); known != shapes_.end()) return known->second;
  hdf5::File row = to_row(trial);
  if (const hdf5::Variable* odd = misfit(row))
    throw DamagedError(fmt::format("{}: {} is not of the type or shape that it has in other trials",
                                   sources_.back().path.native(), odd->name));
  for (const hdf5::Variable& v : row.variables) kinds_.emplace(v.name, kind(v));
  examples_.push_back(std::move(row));
  return shapes_[std::move(key)] = examples_.size() - 1;
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

void Collection::hold(std::size_t records) { most_held_ = std::max(most_held_, kept_.size() + records); }

TrialRecord Collection::again(const Trial& t) const {
  if (const auto kept = kept_.find(t.id); kept != kept_.end()) return kept->second;
  TrialRecord trial = sources_[t.source].again(t.row);
  const auto shape = shapes_.find(shape_key(trial));
  if (trial.id != t.id || trial.status != t.status || shape == shapes_.end() || shape->second != t.shape)
    throw DamagedError(
        fmt::format("{}: trial {} has changed meanwhile", sources_[t.source].path.native(), t.id));
  return trial;
}

/// Into the plan's order; returns how many of its trials are there.
std::size_t Collection::sort(const std::vector<std::string>& plan) {
  std::unordered_map<std::string_view, std::size_t> ranks;
  for (const std::string& id : plan) ranks.emplace(id, ranks.size());
  const auto rank = [&](const Trial& t) {
    const auto i = ranks.find(t.id);
    return i == ranks.end() ? plan.size() : i->second;
  };
  std::ranges::stable_sort(trials_, {}, rank);
  for (std::size_t i = 0; i < trials_.size(); ++i) index_[trials_[i].id] = i;
  return static_cast<std::size_t>(std::ranges::lower_bound(trials_, plan.size(), {}, rank) - trials_.begin());
}

/// The file without its rows: an example of each shape, where it first comes, has all its scales and columns.
hdf5::File Collection::outline(std::size_t planned, std::size_t there,
                               const std::string& specification) const {
  std::vector<hdf5::File> parts;
  std::vector<Place> order;
  std::vector<bool> met(examples_.size());
  for (const Trial& t : trials_) {
    if (met[t.shape]) continue;
    met[t.shape] = true;
    order.push_back({parts.size(), 0});
    parts.push_back(examples_[t.shape]);
  }
  hdf5::File file = stacked(std::move(parts), order);
  file.variables.push_back({"planned",
                            {"trial"},
                            std::vector<std::int8_t>(),
                            {{"units", "1"}, {"long_name", "whether the specification has it"}},
                            {0}});
  for (hdf5::Variable& v : file.variables) {
    if (!v.is_scale()) v.shape[0] = trials_.size();
    std::visit([&](auto& data) { v.is_scale() ? void() : data.clear(); }, v.data);
    if (v.name != "trial") continue;
    std::vector<std::int32_t> numbers(trials_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    v.data = std::move(numbers);
  }
  std::int64_t pending = std::int64_t(planned);
  for (const Status s : {Status::done, Status::diverged, Status::failed}) {
    const auto n = std::count_if(trials_.begin(), trials_.begin() + std::ptrdiff_t(there),
                                 [&](const Trial& t) { return t.status == s; });
    file.attributes["count." + to_string(s)] = std::int64_t(n);
    pending -= n;
  }
  file.attributes["count.planned"] = std::int64_t(planned);
  file.attributes["count.pending"] = pending;
  file.attributes["count.others"] = std::ssize(trials_) - std::int64_t(there);
  file.attributes["coordinates"] = coordinates;
  file.attributes["specification"] = hdf5::readable(specification);
  put_format(file, results_format);
  return file;
}

hdf5::File Collection::block(const hdf5::File& outline, std::size_t first, std::size_t there,
                             Written& written) {
  const std::size_t last = std::min(first + bounds_.block, trials_.size());
  std::vector<hdf5::File> rows;
  std::vector<std::int8_t> in_plan;
  for (std::size_t i = first; i < last; ++i) {
    const TrialRecord trial = again(trials_[i]);
    kept_.erase(trial.id);
    rows.push_back(to_row(trial));
    in_plan.push_back(i < there);
    written.trials.push_back(hdf5::hash(to_file(trial)));
    hold(rows.size());
  }
  hdf5::File file = stacked_as(outline, std::move(rows));
  file.variables.back().data = std::move(in_plan);
  written.hash = hdf5::hash(file);
  return file;
}

/// Whether these rows are met in the order of the files of many that they come from.
bool Collection::is_in_order(std::size_t first, std::size_t last) const {
  std::vector<std::size_t> next(sources_.size());
  for (std::size_t i = first; i < last; ++i) {
    const Trial& t = trials_[i];
    if (!sources_[t.source].many) continue;
    if (t.row < next[t.source]) return false;
    next[t.source] = t.row;
  }
  return true;
}

/// Keeps as many of the next rows as may be kept, read in the order of their files: each in its turn could
/// mean a block read for each row. Returns up to which.
std::size_t Collection::read_ahead(std::size_t first) {
  const std::size_t last = std::min(first + std::max(bounds_.kept, bounds_.block), trials_.size());
  if (is_in_order(first, last) || bounds_.kept < bounds_.block) return last;
  kept_.clear();
  std::vector<const Trial*> order;
  for (std::size_t i = first; i < std::min(first + bounds_.kept, last); ++i) order.push_back(&trials_[i]);
  std::ranges::sort(order, {}, [](const Trial* t) { return std::pair(t->source, t->row); });
  for (const Trial* t : order) kept_.emplace(t->id, again(*t));
  hold(0);
  return last;
}

std::vector<Collection::Written> Collection::put(hdf5::RowWriter& writer, const hdf5::File& outline,
                                                 std::size_t there) {
  std::vector<Written> all;
  for (std::size_t first = 0, ahead = 0; first < trials_.size(); first += bounds_.block) {
    if (first >= ahead) ahead = read_ahead(first);
    writer.append(block(outline, first, there, all.emplace_back()));
  }
  return all;
}

void Collection::check(const std::filesystem::path& file, const hdf5::File& outline,
                       const std::vector<Written>& written) const {
  const auto require = [&](bool same) {
    if (!same) throw DamagedError(fmt::format("{}: does not read back as it was written", file.native()));
  };
  const InputFile input(file);
  hdf5::RowReader reader(input.descriptor());
  require(hdf5::identical(reader.outline(), outline));
  for (std::size_t b = 0; b < written.size(); ++b) {
    hdf5::File block = reader.rows(b * bounds_.block, written[b].trials.size());
    block.attributes.clear();
    require(hdf5::hash(block) == written[b].hash);
    const Rows rows(block);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (hdf5::hash(to_file(rows[i])) != written[b].trials[i])
        throw std::logic_error(fmt::format("trial {}: results.h5 would not give it back", rows[i].id));
  }
}

void Collection::write(const std::filesystem::path& to, const std::vector<std::string>& plan,
                       const std::string& specification) {
  const std::size_t there = sort(plan);
  const hdf5::File whole = outline(plan.size(), there, specification);
  hdf5::RowWriter writer(whole);
  const std::vector<Written> written = put(writer, whole, there);
  write_image(to, writer.image(),
              [&](const std::filesystem::path& temporary) { check(temporary, whole, written); });
}

std::string Collection::image(const std::vector<std::string>& plan, const std::string& specification) {
  const std::size_t there = sort(plan);
  const hdf5::File whole = outline(plan.size(), there, specification);
  hdf5::RowWriter writer(whole);
  put(writer, whole, there);
  return std::string(writer.image());
}

}  // namespace headlab
