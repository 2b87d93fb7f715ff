#include "core/log/results_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <unordered_map>

namespace headlab {
namespace {

const Format format{"headlab-results", 1};

using hdf5::Values;
using Trials = std::vector<TrialRecord>;
using Places = std::vector<std::size_t>;
using Section = Values TrialRecord::*;

struct Columns {
  Section section;
  std::string name, prefix;
};
const std::vector<Columns>& sections() {
  static const std::vector<Columns> all{{&TrialRecord::config, "config", ""},
                                        {&TrialRecord::facts, "facts", ""},
                                        {&TrialRecord::provenance, "provenance", "provenance."}};
  return all;
}
std::string task_of(const TrialRecord& t) {
  const auto i = t.config.find("task.name");
  const auto* name = i == t.config.end() ? nullptr : std::get_if<std::string>(&i->second);
  return name ? *name : "unknown";
}
/// "case" is an axis of its own for each task.
std::string in_results(const std::string& axis, const TrialRecord& t) {
  return axis == "case" ? "case_" + task_of(t) : axis;
}

/// Offsets in a row of the results: elements of a trial's table in their order, along axes of these lengths.
Places offsets(const std::vector<std::pair<std::size_t, const Places*>>& axes) {
  Places all{0};
  for (const auto& [length, places] : axes) {
    Places next;
    next.reserve(all.size() * places->size());
    for (const std::size_t o : all)
      for (const std::size_t p : *places) next.push_back(o * length + p);
    all = std::move(next);
  }
  return all;
}

// Writing

template <class T>
hdf5::Variable column(std::string name, std::vector<T> data, std::string long_name, std::string units = "1") {
  return {std::move(name),
          {"trial"},
          std::move(data),
          {{"units", std::move(units)}, {"long_name", std::move(long_name)}}};
}

/// T: as stored, V: as in a record.
template <class T, class V, class Convert>
hdf5::Data gathered(const Trials& trials, Section section, const std::string& key, const Convert& convert) {
  std::vector<T> data;
  for (const TrialRecord& t : trials) {
    const auto i = (t.*section).find(key);
    const bool there = i != (t.*section).end() && !absent(i->second);
    if (there && !std::holds_alternative<V>(i->second))
      throw DamagedError(fmt::format("{}: of another type in trial {} than before", key, t.id));
    data.push_back(there ? convert(std::get<V>(i->second)) : hdf5::missing<T>());
  }
  return data;
}
hdf5::Data gathered(const Trials& trials, Section section, const std::string& key, const hdf5::Value& like) {
  return std::visit(
      [&]<class V>(const V&) {
        if constexpr (std::is_same_v<V, bool>)
          return gathered<std::int8_t, V>(trials, section, key, [](bool b) { return std::int8_t{b}; });
        else if constexpr (std::is_same_v<V, std::vector<double>>)
          return gathered<std::string, V>(trials, section, key,
                                          [](const V& v) { return fmt::format("{}", fmt::join(v, ",")); });
        else if constexpr (std::is_same_v<V, std::string>)
          return gathered<V, V>(trials, section, key, hdf5::readable);
        else
          return gathered<V, V>(trials, section, key, [](const V& v) { return v; });
      },
      like);
}
void put_columns(hdf5::File& file, const Trials& trials, const Columns& c) {
  std::map<std::string, const hdf5::Value*> keys;
  for (const TrialRecord& t : trials)
    for (const auto& [key, value] : t.*c.section)
      if (!absent(value)) keys.emplace(key, &value);
  for (const auto& [key, value] : keys) {
    hdf5::Variable v = column<double>(c.prefix + key, {}, key, key.starts_with("seconds") ? "s" : "1");
    v.data = gathered(trials, c.section, key, *value);
    v.attributes["column"] = c.name;
    if (std::holds_alternative<std::vector<double>>(*value)) v.attributes["list"] = true;
    file.variables.push_back(std::move(v));
  }
}

/// The axes of all trials: their unions as scales, and each trial's places in them.
class Axes {
 public:
  explicit Axes(const Trials& trials) : places_(trials.size()) {
    for (std::size_t i = 0; i < trials.size(); ++i)
      for (const char* axis : {"epoch", "relative_length", "case_length", "case"}) {
        const hdf5::Variable own = scale(trials[i], axis);
        std::visit([&](const auto& v) { unite(in_results(axis, trials[i]), own, v, places_[i][axis]); },
                   own.data);
      }
  }
  std::size_t length(const std::string& name) const { return index_.at(name).size(); }
  const Places& places(std::size_t trial, const std::string& axis) const { return places_[trial].at(axis); }
  void put(hdf5::File& file, const Trials& trials) const {
    for (const auto& [name, s] : scales_) {
      file.variables.push_back(s);
      if (name == "epoch") continue;
      std::vector<std::int8_t> order(trials.size() * length(name), -1);
      for (std::size_t i = 0; i < trials.size(); ++i)
        for (const char* axis : {"relative_length", "case_length", "case"})
          if (in_results(axis, trials[i]) == name)
            for (std::int8_t k = 0; const std::size_t p : places(i, axis)) order[i * length(name) + p] = k++;
      hdf5::Variable v = column(name + "_order", std::move(order), "place in the trial's own list");
      v.dimensions.push_back(name);
      file.variables.push_back(std::move(v));
    }
  }

 private:
  template <class T>
  void unite(const std::string& name, const hdf5::Variable& own, const std::vector<T>& values, Places& to) {
    auto& scale = scales_.try_emplace(name, hdf5::Variable{name, {name}, std::vector<T>(), own.attributes})
                      .first->second;
    auto& index = index_[name];
    for (const T& value : values) {
      const auto [i, is_new] = index.try_emplace(fmt::format("{}", value), index.size());
      if (is_new) std::get<std::vector<T>>(scale.data).push_back(value);
      to.push_back(i->second);
    }
  }
  std::map<std::string, hdf5::Variable> scales_;
  std::map<std::string, std::unordered_map<std::string, std::size_t>> index_;
  std::vector<std::map<std::string, Places>> places_;
};

/// A table of all trials that have these axes; `axes` are the names in the results.
template <class T>
std::vector<T> stacked(const Trials& trials, const Axes& all, const Field& f,
                       std::vector<T> History::*table, const std::vector<std::string>& axes) {
  std::size_t row = 1;
  for (const std::string& axis : axes) row *= all.length(axis);
  std::vector<T> data(trials.size() * row, hdf5::missing<T>());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::vector<T>& own = trials[i].*table;
    if (own.empty() || in_results(f.axes.back(), trials[i]) != axes.back()) continue;
    std::vector<std::pair<std::size_t, const Places*>> places;
    for (std::size_t a = 0; a < axes.size(); ++a)
      places.emplace_back(all.length(axes[a]), &all.places(i, f.axes[a]));
    const Places to = offsets(places);
    if (own.size() != to.size())
      throw std::logic_error(
          fmt::format("trial {}: {} elements of {}, not {}", trials[i].id, own.size(), f.name, to.size()));
    for (std::size_t k = 0; k < to.size(); ++k) data[i * row + to[k]] = own[k];
  }
  return data;
}

/// Over the epochs of stacked (trial, epoch, ...); a NaN is never best.
template <class T>
void put_summaries(hdf5::File& file, const Trials& trials, const Field& f, const hdf5::Variable& stack,
                   const std::vector<T>& data, std::size_t epochs) {
  const std::size_t tail = epochs && !trials.empty() ? data.size() / trials.size() / epochs : 0;
  std::vector<T> best(trials.size() * tail, hdf5::missing<T>()), last = best;
  for (std::size_t i = 0; i < trials.size(); ++i)
    for (std::size_t e = 0; e < trials[i].step.size(); ++e)
      for (std::size_t k = 0; k < tail; ++k) {
        const T x = data[(i * epochs + e) * tail + k];
        T& b = best[i * tail + k];
        if (!(f.best == Best::most ? b >= x : b <= x) && x == x) b = x;
        last[i * tail + k] = x;
      }
  for (auto [name, values] : {std::pair{"best", &best}, {"last", &last}}) {
    hdf5::Variable v = stack;
    v.name = fmt::format("{}_{}", name, f.name);
    v.dimensions.erase(v.dimensions.begin() + 1);
    v.data = std::move(*values);
    v.attributes["long_name"] = fmt::format("{} epoch's {}", name, f.long_name);
    file.variables.push_back(std::move(v));
  }
}

void put_field(hdf5::File& file, const Trials& trials, const Axes& all, const Field& f) {
  std::set<std::vector<std::string>> shapes;  // one, or one a task
  for (const TrialRecord& t : trials) {
    std::vector<std::string> axes;
    for (const std::string& axis : f.axes) axes.push_back(in_results(axis, t));
    if (!shapes.insert(axes).second) continue;
    std::visit(
        [&]<class T>(std::vector<T> History::*table) {
          std::vector<T> data = stacked(trials, all, f, table, axes);
          hdf5::Variable v = column<T>(f.name, {}, f.long_name, f.units);
          if (f.axes.back() == "case") v.name += "_" + task_of(t);
          v.dimensions.insert(v.dimensions.end(), axes.begin(), axes.end());
          if (f.best != Best::none) put_summaries(file, trials, f, v, data, all.length("epoch"));
          v.data = std::move(data);
          file.variables.push_back(std::move(v));
        },
        f.table);
  }
}

hdf5::File to_file(const Results& results) {
  const Trials& trials = results.trials;
  hdf5::File file;
  file.attributes["specification"] = hdf5::readable(results.specification);
  for (const auto& [key, value] : results.counts) file.attributes["count." + key] = value;
  std::vector<std::int32_t> numbers(trials.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  file.variables.push_back(column("trial", numbers, "trial, in the plan's order"));
  const auto texts = [&](const char* name, auto text) {
    std::vector<std::string> all;
    for (const TrialRecord& t : trials) all.push_back(text(t));
    file.variables.push_back(column(name, std::move(all), name));
  };
  texts("id", [](const TrialRecord& t) { return t.id; });
  texts("status", [](const TrialRecord& t) { return to_string(t.status); });
  texts("message", [](const TrialRecord& t) { return hdf5::readable(t.message); });
  texts("configuration", [](const TrialRecord& t) { return hdf5::readable(t.configuration); });
  std::vector<std::int32_t> epochs;
  for (const TrialRecord& t : trials) epochs.push_back(static_cast<std::int32_t>(t.step.size()));
  file.variables.push_back(column("epochs", std::move(epochs), "epochs finished"));
  for (const Columns& c : sections()) put_columns(file, trials, c);
  const Axes axes(trials);
  axes.put(file, trials);
  for (const Field& f : fields()) put_field(file, trials, axes, f);
  return file;
}

// Reading

/// The trials of a file, made one by one.
class Rows {
 public:
  explicit Rows(hdf5::File file) : file_(std::move(file)) {
    for (const hdf5::Variable& v : file_.variables) by_name_[v.name] = &v;
  }
  std::size_t size() const { return by_name_.contains("id") ? get<std::string>("id").size() : 0; }
  const Values& attributes() const { return file_.attributes; }

  TrialRecord operator[](std::size_t i) const {
    TrialRecord t;
    t.id = get<std::string>("id").at(i);
    t.status = status_of(get<std::string>("status").at(i));
    t.message = get<std::string>("message").at(i);
    t.configuration = get<std::string>("configuration").at(i);
    for (const Columns& c : sections()) take_columns(t, i, c);
    std::map<std::string, Places> places;
    places["epoch"].resize(static_cast<std::size_t>(get<std::int32_t>("epochs").at(i)));
    std::iota(places["epoch"].begin(), places["epoch"].end(), 0);
    take_axis(t.relative_length, i, "relative_length", places["relative_length"]);
    take_axis(t.case_length, i, "case_length", places["case_length"]);
    take_axis(t.case_name, i, in_results("case", t), places["case"]);
    for (const Field& f : fields())
      std::visit([&](auto table) { take_table(t.*table, i, f, places, t); }, f.table);
    return t;
  }

 private:
  const hdf5::Variable* find(const std::string& name) const {
    const auto i = by_name_.find(name);
    return i == by_name_.end() ? nullptr : i->second;
  }
  template <class T>
  const std::vector<T>& get(const std::string& name) const {
    return std::get<std::vector<T>>(by_name_.at(name)->data);
  }
  void take_columns(TrialRecord& t, std::size_t i, const Columns& c) const {
    for (const hdf5::Variable& v : file_.variables) {
      const auto of = v.attributes.find("column");
      if (of == v.attributes.end() || of->second != hdf5::Value(c.name)) continue;
      const hdf5::Value value = cell(v, i);
      const bool none = absent(value) || (value == hdf5::Value(false) && get<std::int8_t>(v.name).at(i) < 0);
      if (!none) (t.*c.section)[v.name.substr(c.prefix.size())] = value;
    }
  }
  static hdf5::Value cell(const hdf5::Variable& v, std::size_t i) {
    return std::visit(
        [&]<class T>(const std::vector<T>& data) -> hdf5::Value {
          if constexpr (std::is_same_v<T, std::int8_t>) return data.at(i) > 0;
          if constexpr (std::is_same_v<T, std::int32_t>) return std::int64_t{data.at(i)};
          if constexpr (std::is_same_v<T, float>) return double{data.at(i)};
          if constexpr (std::is_same_v<T, std::string>)
            if (v.attributes.contains("list")) return list(data.at(i));
          if constexpr (!std::is_same_v<T, std::int8_t> && !std::is_same_v<T, std::int32_t>)
            return data.at(i);
        },
        v.data);
  }
  static std::vector<double> list(const std::string& text) {
    std::vector<double> v;
    for (const char *p = text.data(), *end = p + text.size(); p < end; ++p)
      p = std::from_chars(p, end, v.emplace_back()).ptr;
    return v;
  }
  template <class T>
  void take_axis(std::vector<T>& own, std::size_t i, const std::string& name, Places& places) const {
    if (find(name) == nullptr) return;
    const auto& scale = get<T>(name);
    const auto& order = get<std::int8_t>(name + "_order");
    for (std::size_t p = 0; p < scale.size(); ++p)
      if (const auto k = order.at(i * scale.size() + p); k >= 0) {
        places.resize(std::max<std::size_t>(places.size(), std::size_t(k) + 1));
        places[std::size_t(k)] = p;
      }
    for (const std::size_t p : places) own.push_back(scale[p]);
  }
  template <class T>
  void take_table(std::vector<T>& own, std::size_t i, const Field& f,
                  const std::map<std::string, Places>& places, const TrialRecord& t) const {
    const hdf5::Variable* v = find(f.axes.back() == "case" ? f.name + "_" + task_of(t) : f.name);
    if (v == nullptr) return;
    std::vector<std::pair<std::size_t, const Places*>> axes;
    for (std::size_t a = 0; a < f.axes.size(); ++a)
      axes.emplace_back(v->shape.at(a + 1), &places.at(f.axes[a]));
    const auto& data = std::get<std::vector<T>>(v->data);
    const std::size_t row = data.size() / v->shape[0];
    for (const std::size_t o : offsets(axes)) own.push_back(data.at(i * row + o));
  }

  hdf5::File file_;
  std::unordered_map<std::string, const hdf5::Variable*> by_name_;
};

/// Calls f(rows) and says what is wrong with a sound file that has another content than expected.
template <class F>
auto with_rows(const std::filesystem::path& path, const F& f) try {
  return f(Rows(read_sealed(path, format)));
} catch (const std::bad_variant_access&) {
  throw DamagedError(fmt::format("{}: something in it has another type", path.native()));
} catch (const std::out_of_range&) {
  throw DamagedError(fmt::format("{}: something is missing in it", path.native()));
} catch (const std::invalid_argument& e) {
  throw DamagedError(fmt::format("{}: {}", path.native(), e.what()));
}

bool finished(const TrialRecord& t) { return t.status == Status::done || t.status == Status::diverged; }

bool same_results(TrialRecord a, TrialRecord b) {
  for (TrialRecord* t : {&a, &b}) {
    t->provenance.clear();
    t->facts.erase("seconds");
  }
  return hdf5::identical(to_file(a), to_file(b));
}

}  // namespace

void write_results(const std::filesystem::path& to, const Results& results) {
  write_sealed(to, format, to_file(results), [&](const std::filesystem::path& temporary) {
    with_rows(temporary, [&](const Rows& rows) {
      bool same = rows.size() == results.trials.size();
      for (std::size_t i = 0; same && i < rows.size(); ++i)
        same = hdf5::identical(to_file(rows[i]), to_file(results.trials[i]));
      if (!same) throw DamagedError(fmt::format("{}: does not read back as it was written", to.native()));
    });
  });
}

Results read_results(const std::filesystem::path& from) {
  return with_rows(from, [](const Rows& rows) {
    Results results{std::get<std::string>(rows.attributes().at("specification")), {}, {}};
    for (const auto& [key, value] : rows.attributes())
      if (key.starts_with("count.")) results.counts[key.substr(6)] = value;
    for (std::size_t i = 0; i < rows.size(); ++i) results.trials.push_back(rows[i]);
    return results;
  });
}

Folded fold(const std::filesystem::path& path, const std::vector<std::filesystem::path>& trial_files,
            const std::string& specification, const std::vector<std::string>& plan) {
  Results results;
  if (std::filesystem::exists(path)) results = read_results(path);
  std::unordered_map<std::string, std::size_t> places, ranks;
  for (const TrialRecord& t : results.trials) places.emplace(t.id, places.size());
  Folded folded;
  for (const auto& file : trial_files) try {
      TrialRecord t = read_trial(file);
      if (t.id != file.stem()) throw DamagedError(fmt::format("{}: is trial {}", file.native(), t.id));
      const auto [i, is_new] = places.emplace(t.id, results.trials.size());
      if (is_new) {
        results.trials.push_back(std::move(t));
      } else if (TrialRecord& old = results.trials[i->second]; !finished(old)) {
        old = std::move(t);
      } else if (finished(t) && !same_results(old, t)) {
        folded.damaged.push_back(fmt::format("{}: other results than in {}", file.native(), path.native()));
        continue;
      }
      folded.safe.push_back(file);
    } catch (const DamagedError& e) {
      folded.damaged.emplace_back(e.what());
    }
  for (const std::string& id : plan) ranks.emplace(id, ranks.size());
  const auto rank = [&](const TrialRecord& t) {
    return ranks.contains(t.id) ? ranks.at(t.id) : ranks.size();
  };
  std::stable_sort(results.trials.begin(), results.trials.end(),
                   [&](const TrialRecord& a, const TrialRecord& b) { return rank(a) < rank(b); });
  results.specification = specification;
  std::map<std::string, std::int64_t> counts{{"planned", std::ssize(plan)}};
  for (const Status s : {Status::done, Status::diverged, Status::failed, Status::interrupted})
    counts[to_string(s)] = std::count_if(results.trials.begin(), results.trials.end(),
                                         [&](const TrialRecord& t) { return t.status == s; });
  results.counts = Values(counts.begin(), counts.end());
  write_results(path, results);
  return folded;
}

}  // namespace headlab
