#pragma once
#include <string_view>

namespace headlab {

/// What this program was built from and with.
struct Build {
  std::string_view version;
  std::string_view commit;  ///< 40 hex digits; empty if the sources were not under git
  bool dirty;               ///< the sources differed from the commit
  std::string_view compiler;
};
Build build();

}  // namespace headlab
