#include "sweeps/sections.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <map>
#include <sstream>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace headlab {
namespace {

std::string as_typed(const toml::node& node) {
  if (const auto* word = node.as_string()) return word->get();
  if (const auto* real = node.as_floating_point()) return number(real->get());
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

struct Child {
  std::string name, where;
  const toml::node& node;
};

class Reader {
 public:
  Reader(const std::string& file, Faults& faults) : file_(file), faults_(faults) {}

  std::string place(const toml::source_position& at) const {
    return fmt::format("{}:{}:{}", file_, at.line, at.column);
  }
  /// In file order; with `deep`, values of inner tables under dotted names.
  std::vector<Child> children(const toml::table& table, bool deep) const {
    std::map<std::pair<toml::source_index, toml::source_index>, Child> sorted;
    collect(table, "", deep, sorted);
    std::vector<Child> all;
    for (auto& [at, child] : sorted) all.push_back(std::move(child));
    return all;
  }
  void section(const Child& child, SpecificationText& to) {
    if (child.name == "name") return text(child, to.name);
    if (child.name == "title") return text(child, to.title);
    if (child.name == "finding") return text(child, to.finding);
    if (child.name == "exclude") return exclude(child, to.exclude);
    if (child.name == "budget") return budgets(child, to.budgets);
    if (!axes(child, to.sections))
      unknown(child, "a section", {"name", "title", "finding", "base", "grid", "zip", "exclude", "budget"});
  }

 private:
  void fault(const Child& child, std::string_view what) {
    faults_.add(fmt::format("{}: {}: {}", child.where, visible(child.name), what));
  }
  void unknown(const Child& child, const std::string& what, const std::vector<std::string_view>& known) {
    fault(child, fmt::format("not {}{}", what, hint(child.name, known)));
  }
  void text(const Child& child, std::string& to) {
    if (child.node.is_string())
      to = as_typed(child.node);
    else
      fault(child, as_typed(child.node) + " is not a text in quotes");
  }
  Entries entries(const Child& section) {
    Entries all;
    if (const auto* table = section.node.as_table())
      for (const Child& child : children(*table, true)) all.push_back(entry(child));
    else
      fault(section, "is not a table");
    return all;
  }
  bool axes(const Child& child, Sections& to) {
    for (const auto& [name, entries_of] :
         {std::pair("base", &Sections::base), {"grid", &Sections::grid}, {"zip", &Sections::zip}}) {
      if (child.name != name) continue;
      to.*entries_of = entries(child);
      return true;
    }
    return false;
  }
  void budgets(const Child& section, std::vector<Budget>& to) {
    const auto* table = section.node.as_table();
    if (table == nullptr) return fault(section, "is not a table of budgets");
    for (const Child& budget : children(*table, false)) {
      to.push_back({budget.name, {}});
      const auto* inner = budget.node.as_table();
      if (inner == nullptr) {
        fault(budget, "is not a table");
        continue;
      }
      for (const Child& child : children(*inner, false))
        if (!axes(child, to.back().sections))
          unknown(child, "a section of a budget", {"base", "grid", "zip"});
    }
  }
  void exclude(const Child& section, std::vector<Entries>& to) {
    const auto* list = section.node.as_array();
    if (list == nullptr || !list->is_homogeneous(toml::node_type::table))
      return fault(section, "is not a list of tables, [[exclude]]");
    for (const toml::node& node : *list) {
      const Child one{"exclude", place(node.source().begin), node};
      to.push_back(entries(one));
      if (to.back().empty()) fault(one, "names no axis");
    }
  }
  void collect(const toml::table& table, const std::string& prefix, bool deep,
               std::map<std::pair<toml::source_index, toml::source_index>, Child>& to) const {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      const toml::source_position at = key.source().begin;
      if (const auto* inner = node.as_table(); inner != nullptr && deep)
        collect(*inner, name + ".", deep, to);
      else
        to.insert({{at.line, at.column}, {name, place(at), node}});
    }
  }
  static Entry entry(const Child& child) {
    Entry e{child.name, child.where, as_typed(child.node), {}};
    const auto* array = child.node.as_array();
    if (array == nullptr) return e;
    e.elements.emplace();
    for (const toml::node& element : *array) {
      e.elements->push_back(as_typed(element));
      e.nested |= element.is_array();
    }
    return e;
  }

  const std::string& file_;
  Faults& faults_;
};

}  // namespace

SpecificationText read_sections(std::string_view text, const std::string& file, Faults& faults) try {
  const toml::table root = toml::parse(text);
  SpecificationText to;
  Reader reader(file, faults);
  for (const Child& child : reader.children(root, false)) reader.section(child, to);
  if (!is_name(to.name))
    faults.add(
        fmt::format("{}: name: {:?} is not a name of letters, digits, '-', '_' and '.'", file, to.name));
  return to;
} catch (const toml::parse_error& e) {
  faults.add(fmt::format("{}: not TOML: {}", Reader(file, faults).place(e.source().begin), e.description()));
  return {};
}

}  // namespace headlab
