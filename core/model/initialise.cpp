#include "core/model/initialise.hpp"

#include <cmath>

#include "core/base/random.hpp"

namespace headlab {
namespace {

void truncated_normal(const Matrix& m, const std::string& name, const Config& config) {
  for (Index r = 0; r < m.rows; ++r) {
    Stream stream(static_cast<std::uint64_t>(config.seed), Purpose::initialisation, name_hash(name),
                  static_cast<std::uint64_t>(r));
    for (Index c = 0; c < m.cols; ++c)
      m(r, c) = static_cast<float>(config.init.std * stream.truncated_normal());
  }
}

}  // namespace

bool is_weight(const std::string& parameter) { return parameter.ends_with(".weight"); }

void initialise(Parameters& parameters, const Config& config) {
  for (const Region& r : parameters.entries()) {
    const Matrix m = at(parameters.value, r);
    if (is_weight(r.name) || r.name.starts_with("embedding."))
      truncated_normal(m, r.name, config);
    else
      for (Index row = 0; row < m.rows; ++row)
        std::fill_n(m.row(row), m.cols, r.name.ends_with(".gain") ? 1.F : 0.F);
  }
}

}  // namespace headlab
