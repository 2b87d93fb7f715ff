#pragma once
// A specification's TOML as entries with places, before keys and values are looked at.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/faults.hpp"

namespace headlab {

/// `key = value` as written: a text, or the elements of an array, each as one would type it.
struct Entry {
  std::string name, where;
  std::string text;                                  ///< the value; an array stays in its brackets
  std::optional<std::vector<std::string>> elements;  ///< of an array
  bool nested = false;                               ///< of an array of arrays
};
using Entries = std::vector<Entry>;  ///< in file order

struct Sections {
  Entries base, grid, zip;
};
struct Budget {
  std::string name;
  Sections sections;
};
struct SpecificationText {
  std::string name, title, finding;
  Sections sections;
  std::vector<Entries> exclude;
  std::vector<Budget> budgets;
};

/// Faults: not TOML, unknown sections, texts or tables that are something else.
SpecificationText read_sections(std::string_view text, const std::string& file, Faults& faults);

}  // namespace headlab
