#pragma once
// Rows of several results files in one.
#include "core/log/results_row.hpp"

namespace headlab {

struct Place {
  std::size_t part, row;
};

/// The rows at these places of the parts, in this order. A scale holds the values that these trials have, in
/// the order in which they first come; columns without any value are left out. DamagedError if a variable has
/// another type or other dimensions in one part than in another.
hdf5::File stacked(std::vector<hdf5::File> parts, const std::vector<Place>& order);

/// Rows, each a file of one row, as those of a larger file: with its scales and all its variables, in its
/// order. DamagedError if a row has a value that a scale lacks.
hdf5::File stacked_as(const hdf5::File& outline, std::vector<hdf5::File> rows);

}  // namespace headlab
