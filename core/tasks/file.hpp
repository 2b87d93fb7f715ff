#pragma once
#include "core/config/key.hpp"
#include "core/config/sequence_table.hpp"

namespace headlab {

/// The keys of task.name = file. What is in the file, not where it lies, is part of a trial's id.
Keys file_keys(const ReadTable& read);

}  // namespace headlab
