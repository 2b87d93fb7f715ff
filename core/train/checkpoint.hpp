#pragma once
#include "core/train/history.hpp"
#include "core/train/tensors.hpp"

namespace headlab {

/// Where a trial's time went, in seconds.
struct TimeSpent {
  double training{}, evaluation{}, data{};
};

/// Means over the steps of an epoch.
struct EpochMeans {
  double loss{}, accuracy{}, gradient_norm{};

  bool operator==(const EpochMeans&) const = default;
};

/// All that a trial needs to go on to the same bits. Batches, dropout masks and evaluation sets are functions
/// of configuration and step, so none of them is here.
struct Checkpoint {
  std::int64_t step{};              ///< steps made, the next one is this; an epoch that has all of its steps
                                    ///< and no row in `history` is evaluated next
  Tensors value, moment1, moment2;  ///< of all parameters, with Adam's moments
  EpochMeans unfinished;            ///< what the steps made since the last row of `history` add to its next
  History history;                  ///< of evaluated epochs; no test results
  TimeSpent seconds;
};

}  // namespace headlab
