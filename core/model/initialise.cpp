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

/// normal: not truncated, .2; xavier: uniform up to sqrt(6 / (M + D~_k)); blocks: 1 where shared feature r
/// would be one of head h's own, else 0, so that heads start as concatenated ones.
float mixing_entry(const Matrix& m, Index h, Index r, Mixing how, Stream& stream) {
  switch (how) {
    case Mixing::normal:
      return static_cast<float>(.2 * stream.normal());
    case Mixing::xavier:
      return static_cast<float>(std::sqrt(6. / static_cast<double>(m.rows + m.cols)) *
                                (2 * stream.uniform() - 1));
    case Mixing::blocks:
      return r * m.rows / m.cols == h ? 1 : 0;
    case Mixing::ones:
      break;
  }
  return 1;
}

void mixing(const Matrix& m, const std::string& name, const Config& config) {
  for (Index h = 0; h < m.rows; ++h) {
    Stream stream(static_cast<std::uint64_t>(config.seed), Purpose::initialisation, name_hash(name),
                  static_cast<std::uint64_t>(h));
    for (Index r = 0; r < m.cols; ++r) m(h, r) = mixing_entry(m, h, r, config.init.mixing, stream);
  }
}

}  // namespace

bool is_weight(const std::string& parameter) { return parameter.ends_with(".weight"); }

void initialise(Parameters& parameters, const Config& config) {
  for (const Region& r : parameters.entries()) {
    const Matrix m = at(parameters.value, r);
    if (is_weight(r.name) || r.name.starts_with("embedding."))
      truncated_normal(m, r.name, config);
    else if (r.name.ends_with(".mixing"))
      mixing(m, r.name, config);
    else
      for (Index row = 0; row < m.rows; ++row)
        std::fill_n(m.row(row), m.cols, r.name.ends_with(".gain") ? 1.F : 0.F);
  }
}

}  // namespace headlab
