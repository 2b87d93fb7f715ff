#pragma once
#include "core/base/error.hpp"
#include "core/config/resolve.hpp"

namespace headlab::test {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The configuration that these settings give.
inline Config configuration(const Pairs& pairs) {
  Source source;
  for (const auto& [name, text] : pairs) source.settings.push_back({name, text, "test"});
  return resolve(joined({core_keys()}), {source}).config;
}
inline Pairs operator+(Pairs a, const Pairs& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace headlab::test
