#include "sweeps/specification.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "sweeps/sections.hpp"

namespace headlab {
namespace {

using Axes = std::vector<SweepAxis>;

bool is_list(const Key& key) { return std::holds_alternative<std::vector<double>>(key.default_value({})); }

/// "[1,0.5],[1,2]" at the commas between brackets; a text that starts with none is one list.
std::vector<std::string> lists(std::string_view text) {
  std::vector<std::string> all;
  while (text.starts_with('[') && text.find(']') != text.npos) {
    all.emplace_back(text.substr(0, text.find(']') + 1));
    text.remove_prefix(all.back().size());
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  if (all.empty() || !text.empty()) all.emplace_back(text);
  return all;
}

/// Reads entries into axes; faults are told, unknown keys left out.
class Reader {
 public:
  Reader(const Keys& keys, Faults& faults) : keys_(keys), faults_(faults) {}

  Axes single(const Entries& entries) {
    return read(entries, [](const Key&, const Entry& e) { return std::vector{e.text}; });
  }
  Axes several(const Entries& entries) {
    return read(entries, [](const Key& key, const Entry& e) {
      if (!e.elements) return is_list(key) ? lists(e.text) : expand(e.text);
      require(!e.elements->empty(), "has no values");
      require(!is_list(key) || e.nested, "{} is not an array of arrays", e.text);
      return *e.elements;
    });
  }

 private:
  template <class Values>
  Axes read(const Entries& entries, const Values& values) {
    Axes axes;
    for (const Entry& e : entries) {
      const Key* key = find(keys_, e.name);
      if (key == nullptr) {
        faults_.add(unknown_key(keys_, {e.name, e.text, e.where}));
        continue;
      }
      if (std::ranges::count(axes, key->name, &SweepAxis::key) > 0) {
        fault(*key, e, "given twice, again as " + visible(e.text));
        continue;
      }
      axes.push_back({key->name, {}, e.where});
      try {
        axes.back().values = canonical(*key, e, values(*key, e));
      } catch (const ConfigError& error) {
        fault(*key, e, error.what());
      }
    }
    return axes;
  }
  std::vector<std::string> canonical(const Key& key, const Entry& e, const std::vector<std::string>& texts) {
    std::vector<std::string> values;
    Config scratch;
    for (const std::string& given : texts) {
      const bool holds = key.set(scratch, given);
      const bool typed = e.elements || std::ranges::count(split(e.text), given) > 0;
      if (!holds)
        fault(key, e,
              fmt::format("{}{} is not {}", visible(given), typed ? "" : ", of " + e.text + ",", key.what));
      values.push_back(holds ? text(key.get(scratch)) : given);
      if (!holds && !typed) break;  // one of a generator's values stands for all
    }
    return values;
  }
  void fault(const Key& key, const Entry& e, std::string_view what) {
    faults_.add(fmt::format("{}: {}", place(e.where, key.name), what));
  }

  const Keys& keys_;
  Faults& faults_;
};

using Section = Axes Specification::*;
constexpr std::array<Section, 3> all_sections{&Specification::base, &Specification::grid,
                                              &Specification::zip};

/// The section where a key stands; null if in none.
Section section_of(const Specification& s, const std::string& key) {
  for (const Section section : all_sections)
    if (std::ranges::count(s.*section, key, &SweepAxis::key) > 0) return section;
  return nullptr;
}

/// Puts an axis in the place of the one that it replaces, or at the end of another section.
void put(Specification& s, SweepAxis axis, Section to) {
  for (const Section section : all_sections) {
    Axes& axes = s.*section;
    const auto old = std::ranges::find(axes, axis.key, &SweepAxis::key);
    if (old == axes.end()) continue;
    if (section == to) return void(*old = std::move(axis));
    axes.erase(old);
  }
  (s.*to).push_back(std::move(axis));
}

void override_with(Specification& s, SweepAxis axis) {
  Section to = section_of(s, axis.key);
  const bool several = axis.values.size() > 1;
  if (to == nullptr || (to == &Specification::base && several))
    to = several ? &Specification::grid : &Specification::base;
  put(s, std::move(axis), to);
}

Specification with(Specification s, const Specification& budget) {
  for (const Section section : all_sections)
    for (const SweepAxis& axis : budget.*section) put(s, axis, section);
  return s;
}

/// base, grid and zip; a key in two of them is told.
Specification read_axes(const Sections& from, Reader& reader, Faults& faults) {
  Specification s;
  s.base = reader.single(from.base);
  s.grid = reader.several(from.grid);
  s.zip = reader.several(from.zip);
  const std::array<std::string, 3> names{"base", "grid", "zip"};
  for (std::size_t later = 1; later < all_sections.size(); ++later)
    for (const SweepAxis& axis : s.*all_sections[later])
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const Axes& others = s.*all_sections[earlier];
        if (const auto other = std::ranges::find(others, axis.key, &SweepAxis::key); other != others.end())
          faults.add(fmt::format("{}: stands in [{}] too, {}", place(axis.where, axis.key), names[earlier],
                                 other->where));
      }
  return s;
}

void check_zip(const Specification& s, Faults& faults) {
  for (const SweepAxis& axis : s.zip) {
    const SweepAxis& first = s.zip.front();
    if (axis.values.size() != first.values.size() && !axis.values.empty() && !first.values.empty())
      faults.add(fmt::format("{}: length {} is not that of {}, {}: axes of [zip] move together",
                             place(axis.where, axis.key), axis.values.size(), first.key,
                             first.values.size()));
  }
}

/// All budgets are read and checked, one is applied.
Specification with_budget(const Specification& written, const std::vector<Budget>& budgets,
                          const std::string& chosen, const std::string& file, Reader& reader,
                          Faults& faults) {
  Specification result = written;
  for (const Budget& budget : budgets) {
    const Specification s = with(written, read_axes(budget.sections, reader, faults));
    check_zip(s, faults);
    if (budget.name == chosen) result = s;
  }
  if (!chosen.empty() && chosen != "paper" && std::ranges::count(budgets, chosen, &Budget::name) == 0) {
    std::vector<std::string> names;
    for (const Budget& budget : budgets) names.push_back(budget.name);
    faults.add(fmt::format("--budget: {} is not a budget of {}, which has {}", chosen, file,
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return result;
}

void check_excluded(const Specification& s, const std::vector<const Specification*>& declared,
                    Faults& faults) {
  const auto axis_of = [](const Specification& d, const std::string& key) {
    const Section section = section_of(d, key);
    return section == &Specification::grid || section == &Specification::zip;
  };
  for (const Axes& axes : s.exclude)
    for (const SweepAxis& axis : axes)
      if (std::ranges::none_of(declared, [&](const Specification* d) { return axis_of(*d, axis.key); }))
        faults.add(fmt::format("{}: not an axis of [grid] or [zip]", place(axis.where, axis.key)));
}

void check_size(const Specification& s, const std::string& file, Faults& faults) {
  if (const double n = points(s); n > most_points)
    faults.add(fmt::format("{}: {:.3g} points are too many: at most {}", file, n,
                           grouped(static_cast<std::int64_t>(most_points))));
}

Axes read_overrides(const Source& overrides, Reader& reader, Faults& faults) {
  faults.add(overrides.faults);
  Entries entries;
  for (const Setting& s : overrides.settings) entries.push_back({s.name, s.where, s.text, {}});
  return reader.several(entries);
}

}  // namespace

double points(const Specification& s) {
  double n = s.zip.empty() ? 1 : static_cast<double>(s.zip.front().values.size());
  for (const SweepAxis& axis : s.grid) n *= static_cast<double>(axis.values.size());
  return n;
}

Specification read_specification(const Keys& keys, std::string_view text, const std::string& file,
                                 const Choice& choice, Faults& faults) {
  Reader reader(keys, faults);
  const SpecificationText from = read_sections(text, file, faults);
  Specification written = read_axes(from.sections, reader, faults);
  written.name = from.name, written.title = from.title, written.finding = from.finding, written.text = text;
  for (const Entries& entries : from.exclude) written.exclude.push_back(reader.several(entries));
  check_zip(written, faults);
  const Specification budgeted = with_budget(written, from.budgets, choice.budget, file, reader, faults);
  Specification s = budgeted;
  for (SweepAxis& axis : read_overrides(choice.overrides, reader, faults)) override_with(s, std::move(axis));
  check_zip(s, faults);
  check_excluded(s, {&written, &budgeted, &s}, faults);
  check_size(s, file, faults);
  return s;
}

Specification read_specification(const Keys& keys, std::string_view text, const std::string& file,
                                 const Choice& choice) {
  Faults faults;
  Specification s = read_specification(keys, text, file, choice, faults);
  faults.raise();
  return s;
}

}  // namespace headlab
