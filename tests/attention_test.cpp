#include "tests/definitions/attention.hpp"

#include <numbers>
#include <numeric>
#include <thread>

#include "core/attention/aggregation.hpp"
#include "core/config/key.hpp"
#include "core/dnn/threads.hpp"

namespace headlab::test {
namespace {

Config small_config(Index heads, Index query_key_dim, Index dim) {
  Config config;
  config.model.heads = heads;
  config.model.query_key_dim = query_key_dim;
  config.model.dim = dim;
  config.model.attention_epsilon = 1e-3;
  return config;
}

/// Some rows of a slot as an input of their own.
Slot part(Slot whole, const char* name, Index first, Index rows) {
  whole.name = name;
  whole.rows = rows;
  whole.offset += first * whole.pitch;
  return whole;
}

/// A variant by itself, from queries, keys and values or, where it pools, embeddings.
Build alone(const Aggregation& variant, const Config& config) {
  return [=](Planner& p, Layers& layers) -> Ends {
    const Index d = config.model.dim, d_k = config.model.query_key_dim;
    const Slot in = p.slot("x", variant.pools ? d : 2 * d_k + d);
    Ends ends{{in}, variant.aggregate(p, layers, "layer.0", in, config)};
    if (!variant.pools)
      ends.inputs = {part(in, "query", 0, d_k), part(in, "key", d_k, d_k), part(in, "value", 2 * d_k, d)};
    return ends;
  };
}

/// The definition of a variant as a generic function of the tables of its inputs and parameters.
auto definition(Architecture name, Index length, const Config& config) {
  return [=, m = config.model]<class T>(const Tables<T>& in) -> Table<T> {
    const double scale = std::sqrt(double(m.heads) / double(m.query_key_dim));
    const auto heads = [&](const auto& weights) {
      return attention(in.at("query"), in.at("key"), in.at("value"), length, m.heads, weights);
    };
    switch (name) {
      case Architecture::bert:
      case Architecture::mte:
        return heads([&](const Row<T>& l, Index) { return softmax(scaled(l, scale)); });
      case Architecture::nap:
        return heads([&](const Row<T>& l, Index h) {
          return normalised(l, in.at("layer.0.nap.gain")(0, h), in.at("layer.0.nap.bias")(0, h));
        });
      case Architecture::non:
        return heads([&](const Row<T>& l, Index) { return scaled(l, scale / std::sqrt(double(length))); });
      case Architecture::sum:
        return pooled(in.at("x"), length, sum<T>);
      case Architecture::max:
        return pooled(in.at("x"), length, first_max<T>);
    }
    throw std::logic_error("no such variant");
  };
}

struct Shape {
  Chunk chunk;
  Index heads, query_key_dim, dim;
};
using Case = std::tuple<Architecture, Shape>;

std::vector<Architecture> architectures() {
  using enum Architecture;
  return {HEADLAB_ARCHITECTURES};
}
std::string word(Architecture variant) { return std::get<std::string>(value(variant)); }

/// Checks a variant as the only consumer of its inputs, and with later ones to whose gradients it must add.
class InEveryShape : public testing::TestWithParam<Case> {
 protected:
  void check(float scale) const {
    const auto& [name, shape] = GetParam();
    const Config config = small_config(shape.heads, shape.query_key_dim, shape.dim);
    for (const bool shared : {false, true}) {
      Parameters parameters;
      Plan plan(parameters, shape.chunk, [&](Planner& p, Layers& layers) {
        Ends ends = alone(aggregation(name), config)(p, layers);
        if (shared) p.use(ends.inputs.front());
        return ends;
      });
      expect_matches_definition(plan, definition(name, shape.chunk.length, config),
                                {.input_passes = shared ? 2. : 1., .scale = scale});
    }
  }
};
std::string case_name(const testing::TestParamInfo<Case>& p) {
  const auto& [name, shape] = p.param;
  return fmt::format("{}_{}x{}", word(name), shape.chunk.sequences, shape.chunk.length);
}
/// One token, one and several sequences and heads, odd lengths, narrower and wider queries than values, more
/// than one block of lanes, a pitch that would be a multiple of 128.
const Shape shapes[] = {
    {{1, 1}, 1, 1, 1}, {{1, 5}, 2, 2, 4}, {{7, 3}, 2, 4, 6}, {{33, 1}, 3, 6, 3}, {{8, 16}, 1, 2, 2}};
INSTANTIATE_TEST_SUITE_P(Shapes, InEveryShape,
                         testing::Combine(testing::ValuesIn(architectures()), testing::ValuesIn(shapes)),
                         case_name);

TEST_P(InEveryShape, MatchesItsDefinition) { check(1); }
TEST_P(InEveryShape, MatchesItsDefinitionWhereLogitsAreMillionths) { check(1e-3F); }

/// A plan of one variant, its inputs at hand.
struct Alone {
  Parameters parameters;
  Config config;
  Plan plan;
  std::vector<Slot> inputs = plan.ends().inputs;

  Alone(Architecture name, Chunk chunk, Index heads, Index query_key_dim, Index dim)
      : config(small_config(heads, query_key_dim, dim)),
        plan(parameters, chunk, alone(aggregation(name), config)) {}
  Matrix input(std::size_t k) { return plan.context().value(inputs[k]); }
  Matrix gradient(std::size_t k) { return plan.context().grad(inputs[k]); }
  Matrix output() { return plan.context().value(plan.ends().output); }
  Matrix output_gradient() { return plan.context().grad(plan.ends().output); }
  Matrix parameter(const std::string& name) { return at(parameters.value, *parameters.find(name)); }
  void fill_inputs(std::mt19937& rng) {
    for (std::size_t k = 0; k < inputs.size(); ++k) fill(input(k), rng);
  }
  void set_nap(float gain, float bias) {
    set(parameter("layer.0.nap.gain"), gain);
    set(parameter("layer.0.nap.bias"), bias);
  }

 private:
  static void set(const Matrix& m, float x) {
    for (Index r = 0; r < m.rows; ++r) std::fill_n(m.row(r), m.cols, x);
  }
};

/// With values that are unit vectors, o_i are the weights of query i.
TEST(Normalised, RowsHaveMeanBiasAndDeviationGain) {
  constexpr Index N = 12;
  constexpr float gain = 1.25F, bias = -.5F;
  for (const float scale : {1.F, .02F}) {
    Alone nap(Architecture::nap, {N, 2}, 1, 3, N);
    std::mt19937 rng(1);
    fill(nap.input(0), rng, scale);
    fill(nap.input(1), rng, scale);
    for (Index j = 0; j < N; ++j)
      for (Index t = 0; t < 2 * N; ++t) nap.input(2)(j, t) = j == t % N;
    nap.set_nap(gain, bias);
    nap.plan.forward();
    for (Index i = 0; i < 2 * N; ++i) {
      double sum = 0, squares = 0, mean = 0, square = 0;
      for (Index j = 0; j < N; ++j) {
        double l = 0;
        for (Index f = 0; f < 3; ++f)
          l += double(nap.input(0)(f, i)) * double(nap.input(1)(f, i / N * N + j));
        mean += l / N;
        square += l * l / N;
        sum += nap.output()(j, i);
        squares += std::pow(double(nap.output()(j, i)) - double(bias), 2) / N;
      }
      const double deviation = std::sqrt(square - mean * mean);
      EXPECT_NEAR(sum, N * bias, 1e-5);
      EXPECT_NEAR(std::sqrt(squares), gain * deviation / (deviation + 1e-3), 2e-6);
    }
  }
}

TEST(Normalised, OfOneTokenIsZeroAtTheStart) {
  Alone nap(Architecture::nap, {1, 3}, 2, 4, 4);
  std::mt19937 rng(1);
  nap.fill_inputs(rng);
  nap.set_nap(1, 0);
  nap.plan.forward();
  for (const double y : read(nap.output()).data) EXPECT_EQ(y, 0);
}

/// All keys equal, and whole numbers: logits are exactly their mean. The complex step agrees that nothing
/// goes through the deviation.
TEST(Normalised, HasAGradientWhereTheVarianceIsZero) {
  constexpr Chunk chunk{6, 2};
  Alone nap(Architecture::nap, chunk, 1, 2, 3);
  std::mt19937 rng(1);
  nap.fill_inputs(rng);
  for (Index t = 0; t < chunk.tokens(); ++t)
    for (Index f = 0; f < 2; ++f) {
      nap.input(0)(f, t) = float(t % 5) - 2;
      nap.input(1)(f, t) = float(3 - f);
    }
  nap.set_nap(1.5F, .25F);
  fill(nap.output_gradient(), rng);
  nap.parameters.zero_gradients();
  nap.plan.forward();
  nap.plan.backward();
  Tables<double> in;
  for (std::size_t k = 0; k < 3; ++k) in.emplace(nap.inputs[k].name, read(nap.input(k)));
  for (const Region& r : nap.parameters.entries()) in.emplace(r.name, read(nap.parameter(r.name)));
  const auto defined = definition(Architecture::nap, chunk.length, nap.config);
  const auto d = [&](const std::string& name) {
    return derivative(in, name, read(nap.output_gradient()), defined);
  };
  expect_close("y", nap.output(), defined(in), 1);
  expect_close("d key", nap.gradient(1), d("key"), 1);
  expect_close("d value", nap.gradient(2), d("value"), 1);
  for (const double x : read(nap.gradient(0)).data) EXPECT_NEAR(x, 0, 1e-2);  // 1 / epsilon times rounding
  expect_close("d bias", at(nap.parameters.gradient, *nap.parameters.find("layer.0.nap.bias")),
               d("layer.0.nap.bias"), 1);
}

/// Numbers of few bits, so that logits of up to 200 are exact. Without its maximum an exponential would
/// overflow.
TEST(Softmax, DoesNotSeeWhatIsAddedToAllLogits) {
  Alone softmax(Architecture::mte, {9, 2}, 1, 4, 3);
  std::mt19937 rng(1);
  fill(softmax.input(2), rng);
  const auto set_keys = [&](float base) {
    for (Index f = 0; f < 4; ++f)
      for (Index t = 0; t < 18; ++t) {
        softmax.input(0)(f, t) = 1 + float(t % 3);
        softmax.input(1)(f, t) = base + float((5 * f + 3 * t) % 7) / 4;
      }
  };
  set_keys(0);
  softmax.plan.forward();
  const Table<double> y = read(softmax.output());
  set_keys(32);
  softmax.plan.forward();
  EXPECT_EQ(read(softmax.output()).data, y.data);
}

TEST(Maximum, GivesItsGradientToTheFirstOfEquals) {
  Alone most(Architecture::max, {12, 2}, 1, 1, 2);
  for (Index t = 0; t < 24; ++t) {
    most.input(0)(0, t) = t == 3 || t == 7 || t == 20 ? 2.F : -1.F;  // first 3 and 20
    most.input(0)(1, t) = t < 12 ? -5.F : 0.F;                       // all equal: first 0 and 12
    for (Index f = 0; f < 2; ++f) most.output_gradient()(f, t) = float(t);
  }
  most.plan.forward();
  most.plan.backward();
  for (Index t = 0; t < 24; ++t) {
    EXPECT_EQ(most.output()(0, t), 2);
    EXPECT_EQ(most.output()(1, t), t < 12 ? -5 : 0);
    EXPECT_EQ(most.gradient(0)(0, t), t == 3 ? 66 : t == 20 ? 210 : 0);
    EXPECT_EQ(most.gradient(0)(1, t), t == 0 ? 66 : t == 12 ? 210 : 0);
  }
}

/// Four sequences of two tokens, the bits 00, 01, 10, 11: token t is the value of[f][bit] of feature f.
constexpr Chunk patterns{2, 4};
constexpr Index bit(Index t) { return (t % 2 ? t / 2 : t / 4) % 2; }
constexpr double exclusive_or(Index t) { return bit(t / 2 * 2) != bit(t / 2 * 2 + 1); }
void set_by_bit(const Matrix& m, const std::vector<std::array<float, 2>>& of) {
  for (Index f = 0; f < m.rows; ++f)
    for (Index t = 0; t < m.cols; ++t)
      m(f, t) = of[static_cast<std::size_t>(f)][static_cast<std::size_t>(bit(t))];
}

TEST(ExclusiveOr, IsOneHeadOfNap) {
  Alone nap(Architecture::nap, patterns, 1, 1, 1);
  set_by_bit(nap.input(0), {{1, 1}});
  set_by_bit(nap.input(1), {{0, 1}});
  set_by_bit(nap.input(2), {{0, 1.002F}});  // the deviation 1/2 plus epsilon, over 1/2
  nap.set_nap(1, 0);
  nap.plan.forward();
  for (Index t = 0; t < 8; ++t) EXPECT_NEAR(nap.output()(0, t), exclusive_or(t), 1e-6) << t;
}

TEST(ExclusiveOr, IsAMaximumOfTwoFeatures) {
  Alone most(Architecture::max, patterns, 1, 1, 2);
  set_by_bit(most.input(0), {{1, 0}, {0, 1}});
  most.plan.forward();
  for (Index t = 0; t < 8; ++t)
    EXPECT_EQ(most.output()(0, t) + most.output()(1, t) - 1, exclusive_or(t)) << t;
}

/// 01 lies between 00 and 11, so that one of them is wrong by 1/2: with weights that sum to one, and in a
/// sum.
TEST(ExclusiveOr, IsBeyondSoftmaxAndSum) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (const auto name : {Architecture::mte, Architecture::sum}) {
    Alone variant(name, patterns, 1, 2, 1);
    for (int draw = 0; draw < 200; ++draw) {
      for (std::size_t k = 0; k < variant.inputs.size(); ++k)
        set_by_bit(variant.input(k), {{normal(rng), normal(rng)}, {3 * normal(rng), 3 * normal(rng)}});
      variant.plan.forward();
      double worst = 0;
      for (Index t = 0; t < 8; ++t)
        worst = std::max(worst, std::abs(variant.output()(0, t) - exclusive_or(t)));
      EXPECT_GE(worst, .5 - 1e-6) << word(name);
    }
  }
}

double deviation(const std::vector<double>& x) {
  double mean = 0, square = 0;
  for (const double v : x) mean += v / double(x.size());
  for (const double v : x) square += (v - mean) * (v - mean) / double(x.size());
  return std::sqrt(square);
}
struct Estimate {
  double mean, error;  ///< its standard error
};
/// Of the standard deviation of all outputs, over seeds: one head, d = 128, queries, keys and values
/// independent standard normal.
Estimate spread(Architecture name, Index length) {
  constexpr unsigned seeds = 16;
  Alone variant(name, {length, std::max<Index>(1, 256 / length)}, 1, 128, 128);
  if (name == Architecture::nap) variant.set_nap(1, 0);
  std::vector<double> deviations;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 rng(seed * 4096 + unsigned(length));
    variant.fill_inputs(rng);
    variant.plan.forward();
    deviations.push_back(deviation(read(variant.output()).data));
  }
  const double mean = std::accumulate(deviations.begin(), deviations.end(), 0.) / seeds;
  return {mean, deviation(deviations) / std::sqrt(seeds - 1.)};
}

struct Spread {
  Architecture name;
  double (*known)(double length);
  double relative_error;  ///< of what is known
};
double root(double length) { return std::sqrt(length); }
double root_but_for_one(double length) { return length > 1 ? std::sqrt(length) : 0; }
double one(double /*length*/) { return 1; }
double softmax_measured(double length) {
  return std::map<double, double>{{1, .999}, {8, .482}, {32, .270}, {128, .142}, {512, .073}, {2048, .036}}
      .at(length);
}
/// The deviation of the largest of n normal numbers, density n phi(x) Phi(x)^(n - 1).
double largest(double n) {
  double total = 0, mean = 0, square = 0;
  for (double x = -8; x < 8; x += 1e-3) {
    const double weight = std::exp(-x * x / 2) * std::pow(std::erfc(-x / std::numbers::sqrt2) / 2, n - 1);
    total += weight;
    mean += weight * x;
    square += weight * x * x;
  }
  return std::sqrt(square / total - mean * mean / total / total);
}
const Spread spreads[] = {{Architecture::mte, softmax_measured, 1e-2},
                          {Architecture::max, largest, 0},
                          {Architecture::non, one, 0},
                          {Architecture::sum, root, 0},
                          {Architecture::nap, root_but_for_one, 1e-4}};  // epsilon
std::string spread_name(const testing::TestParamInfo<Spread>& p) { return word(p.param.name); }

class AtTheStart : public testing::TestWithParam<Spread> {
 protected:
  static void expect_known(Index length) {
    Estimate found{};
    std::thread([&] {  // as a trial runs
      dnn::single_threaded();
      found = spread(GetParam().name, length);
    })
        .join();
    const double known = GetParam().known(double(length));
    EXPECT_NEAR(found.mean, known, 4 * found.error + GetParam().relative_error * known)
        << length << " tokens";
  }
};
class AtTheStartSlow : public AtTheStart {};
INSTANTIATE_TEST_SUITE_P(Spreads, AtTheStart, testing::ValuesIn(spreads), spread_name);
INSTANTIATE_TEST_SUITE_P(Spreads, AtTheStartSlow, testing::ValuesIn(spreads), spread_name);

TEST_P(AtTheStart, OutputsSpreadAsKnown) {
  for (const Index length : {1, 8, 32, 128, 512}) expect_known(length);
}
TEST_P(AtTheStartSlow, LongOutputsSpreadAsKnown) { expect_known(2048); }

}  // namespace
}  // namespace headlab::test
