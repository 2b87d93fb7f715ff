#pragma once
// What a sweep's file, SPEC.toml, says: which keys vary, over which values.
#include "core/base/faults.hpp"
#include "core/config/resolve.hpp"

namespace headlab {

/// A key and its values in canonical spelling; one value in `base`.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
  std::string where;  ///< "spec.toml:3:9" or "command line"
};

struct Specification {
  std::string name, title, finding;
  std::string text;             ///< of the file
  std::vector<SweepAxis> base;  ///< the same in all points
  std::vector<SweepAxis> grid;  ///< points are the product of these, the first varies slowest, ...
  std::vector<SweepAxis> zip;   ///< ... with these, of one length, which move together and fastest
  std::vector<std::vector<SweepAxis>>
      exclude;  ///< a point is left out if each of these keys has such a value
};

/// What is asked of a file. `overrides` are --KEY V[,V...].
struct Choice {
  std::string
      budget;  ///< of [budget.X]; none, or `paper` where the file has none such: the file as it stands
  Source overrides{};
};

/// Reads sections [base], [grid], [zip], [[exclude]] and [budget.X]. Values of an axis are an array or a text
/// as on the command line: 1,2,3, range(0, 5), powers(2, 3, 10), ... (expand); of a key that is itself a
/// list, an array of arrays or "[1,0.5],[1,2]". A key of the budget moves to the budget's section, then
/// overrides replace a key wherever it stands: one that has several values leaves `base` for `grid`; one that
/// stands nowhere is added. ConfigError with all faults, one a line.
Specification read_specification(const Keys& keys, std::string_view text, const std::string& file,
                                 const Choice& choice = {});

/// The same with what is wrong added to `faults`, and without what could not be read.
Specification read_specification(const Keys& keys, std::string_view text, const std::string& file,
                                 const Choice& choice, Faults& faults);

/// Points before exclusion.
double points(const Specification& specification);
constexpr double most_points = 1e6;  ///< more are refused

}  // namespace headlab
