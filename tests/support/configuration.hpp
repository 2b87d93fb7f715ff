#pragma once
#include "core/base/error.hpp"
#include "experiments/configuration.hpp"

namespace headlab::test {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The configuration that these settings give; of several for a key the last counts.
inline Config configuration(const Pairs& pairs) {
  std::vector<Source> sources;
  for (const auto& [name, text] : pairs) sources.push_back({{{name, text, "test"}}, {}});
  return resolve(all_keys(), sources).config;
}
inline Pairs operator+(Pairs a, const Pairs& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace headlab::test
