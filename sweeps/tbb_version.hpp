#pragma once
#include <string>

namespace headlab {

std::string tbb_version();  ///< of the library that is loaded: 2021.8

}  // namespace headlab
