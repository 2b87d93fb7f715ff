#include "core/analytic/at_start.hpp"

#include <cmath>
#include <functional>
#include <numbers>

#include "core/analytic/single_head.hpp"
#include "core/base/random.hpp"

namespace headlab {
namespace {

constexpr Index dim = 128;

struct Size {
  double deviation, norm;
};

Size size_of(const Matrix& y) {
  double sum = 0, squares = 0, norms = 0;
  for (Index t = 0; t < y.cols; ++t) {
    double square = 0;
    for (Index f = 0; f < y.rows; ++f) {
      sum += static_cast<double>(y(f, t));
      square += static_cast<double>(y(f, t)) * static_cast<double>(y(f, t));
    }
    squares += square;
    norms += std::sqrt(square);
  }
  const auto entries = static_cast<double>(y.rows * y.cols);
  return {std::sqrt(squares / entries - sum * sum / entries / entries), norms / static_cast<double>(y.cols)};
}

void divide(const Matrix& y, double by) {
  for (Index f = 0; f < y.rows; ++f)
    for (Index t = 0; t < y.cols; ++t) y(f, t) /= static_cast<float>(by);
}

void standardise_features(const Matrix& y) {
  for (Index t = 0; t < y.cols; ++t) {
    double mean = 0, variance = 0;
    for (Index f = 0; f < y.rows; ++f) mean += static_cast<double>(y(f, t)) / static_cast<double>(y.rows);
    for (Index f = 0; f < y.rows; ++f)
      variance += std::pow(static_cast<double>(y(f, t)) - mean, 2) / static_cast<double>(y.rows);
    for (Index f = 0; f < y.rows; ++f)
      y(f, t) = static_cast<float>((static_cast<double>(y(f, t)) - mean) / (std::sqrt(variance) + 1e-3));
  }
}

void fill_normal(const Matrix& m, Stream& stream) {
  for (Index r = 0; r < m.rows; ++r)
    for (Index c = 0; c < m.cols; ++c) m(r, c) = static_cast<float>(stream.normal());
}

/// An aggregation of the figure: a layer, what is done to its outputs, and the deviation that they have.
struct Entry {
  const char* name;
  Architecture architecture;
  std::function<void(const Matrix& outputs, double length)> then;
  double (*closed_form)(double length);
};
const std::vector<Entry>& entries() {
  using enum Architecture;
  const auto nothing = [](const Matrix&, double) {};
  static const std::vector<Entry> table{
      {"softmax", mte, nothing, [](double n) { return std::sqrt(std::numbers::e / n); }},
      {"mean", sum, divide, [](double n) { return 1 / std::sqrt(n); }},
      {"sum", sum, nothing, [](double n) { return std::sqrt(n); }},
      {"max", max, nothing, deviation_of_largest},
      {"normalised", sum, [](const Matrix& y, double) { standardise_features(y); },
       [](double) { return 1.; }},
      {"nap", nap, nothing, [](double n) { return n > 1 ? std::sqrt(n) : 0.; }},
      {"non", non, nothing, [](double) { return 1.; }}};
  return table;
}

struct Estimate {
  double sum = 0, squares = 0, count = 0;

  void add(double x) { sum += x, squares += x * x, ++count; }
  double mean() const { return sum / count; }
  double error() const { return std::sqrt(std::max(squares / count - mean() * mean(), 0.) / (count - 1)); }
};

SizeAtStart measure(const Entry& entry, Index length, Index replicates, std::int64_t seed) {
  // A pool gives a sequence one output only, but costs little.
  const Index fewest = aggregation(entry.architecture).pools ? 32 : 1;
  SingleHead head(entry.architecture, {length, std::max(fewest, 256 / length)}, dim, dim);
  Estimate deviation, norm;
  for (Index replicate = 0; replicate < replicates; ++replicate) {
    Stream stream(static_cast<std::uint64_t>(seed), Purpose::analytic, static_cast<std::uint64_t>(length),
                  static_cast<std::uint64_t>(replicate));
    if (!head.pools()) fill_normal(head.query(), stream), fill_normal(head.key(), stream);
    fill_normal(head.value(), stream);
    const Matrix y = head.forward();
    entry.then(y, static_cast<double>(length));
    const Size size = size_of(y);
    deviation.add(size.deviation);
    norm.add(size.norm);
  }
  return {entry.name,
          length,
          deviation.mean(),
          deviation.error(),
          norm.mean(),
          norm.error(),
          entry.closed_form(static_cast<double>(length))};
}

}  // namespace

std::vector<SizeAtStart> sizes_at_start(const std::vector<Index>& lengths, Index replicates,
                                        std::int64_t seed) {
  require(replicates >= 2, "a standard error needs 2 replicates or more, not {}", replicates);
  std::vector<SizeAtStart> all;
  for (const Entry& entry : entries())
    for (const Index length : lengths) all.push_back(measure(entry, length, replicates, seed));
  return all;
}

double deviation_of_largest(double n) {
  double total = 0, mean = 0, square = 0;
  for (int step = -8000; step < 8000; ++step) {
    const double x = step * 1e-3;
    const double weight = std::exp(-x * x / 2) * std::pow(std::erfc(-x / std::numbers::sqrt2) / 2, n - 1);
    total += weight;
    mean += weight * x;
    square += weight * x * x;
  }
  return std::sqrt(square / total - mean * mean / total / total);
}

}  // namespace headlab
