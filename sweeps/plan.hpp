#pragma once
#include "sweeps/specification.hpp"

namespace headlab {

struct PlannedTrial {
  std::string id;
  Config config;
};

/// The trials of a specification in its order. points = excluded + repeated + duplicates + trials.
struct SweepPlan {
  Specification specification;
  std::vector<PlannedTrial> trials{};
  std::size_t points{}, excluded{};
  std::size_t duplicates{};  ///< points that differ from an earlier one only in what changes nothing there
  std::size_t repeated{};    ///< points with a value that their axis has had before
  std::vector<std::string> notes{};  ///< keys and exclusions that change nothing

  std::vector<std::string> ids() const;
};

/// ConfigError if points break rules of the table: a line for each fault, with the number of such points.
SweepPlan make_plan(const Keys& keys, Specification specification);

/// Of a specification's file: see read_specification. ConfigError with the faults of the file and, if what
/// can be read of it has points, theirs.
SweepPlan make_plan(const Keys& keys, std::string_view text, const std::string& file,
                    const Choice& choice = {});

}  // namespace headlab
