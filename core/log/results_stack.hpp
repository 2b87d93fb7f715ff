#pragma once
// Rows of several results files in one.
#include "core/log/results_row.hpp"

namespace headlab {

struct Place {
  std::size_t part, row;
};

/// The rows at these places of the parts, in this order. A scale holds the values that these trials have, in
/// the order in which they first come; columns without any value are left out. DamagedError if a variable has
/// another type or other dimensions in one part than in another. Parts are given back piece by piece, so that
/// it holds but one variable more in memory than the rows themselves.
hdf5::File stacked(std::vector<hdf5::File> parts, const std::vector<Place>& order);

}  // namespace headlab
