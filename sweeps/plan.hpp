#pragma once
#include "sweeps/specification.hpp"

namespace headlab {

struct PlannedTrial {
  std::string id;
  Config config;
};

/// The trials of a specification in its order. points = excluded + duplicates + trials.
struct SweepPlan {
  Specification specification;
  std::vector<PlannedTrial> trials{};
  std::size_t points{}, excluded{};
  std::size_t duplicates{};  ///< points that differ from an earlier one only in what changes nothing there
  std::vector<std::string> notes{};  ///< keys of [base] that change nothing in any trial

  std::vector<std::string> ids() const;
};

/// ConfigError if points break rules of the table: a line for each fault, with the number of such points.
SweepPlan make_plan(const Keys& keys, Specification specification);

}  // namespace headlab
