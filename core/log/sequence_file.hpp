#pragma once
#include "core/config/sequence_table.hpp"

namespace headlab {

/// Reads HDF5 files with the datasets, integers all,
///   tokens (B, N)           0 or more
///   labels (B) or (B, N)    0 or more; (B, N): every token answers
///   split (B), optional     0 training, 1 validation, 2 test
/// Without split, of every ten rows the ninth is one of validation, the tenth one of test. Any program may
/// have written them, with any filter that HDF5 has. A file is read anew only after it has changed.
ReadTable sequence_files();

}  // namespace headlab
