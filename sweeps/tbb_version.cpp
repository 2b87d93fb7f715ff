#include "sweeps/tbb_version.hpp"

#include <tbb/version.h>

namespace headlab {

std::string tbb_version() { return TBB_runtime_version(); }

}  // namespace headlab
