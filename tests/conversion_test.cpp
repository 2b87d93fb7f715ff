#include "core/collaborative/conversion.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/collaborative/inputs.hpp"
#include "core/model/initialise.hpp"
#include "core/train/learner.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/heads.hpp"

namespace headlab::test {
namespace {

using namespace collaborative;

constexpr std::size_t dim = 6, heads = 2, width = 2, features = heads * width;

Array<float> floats(const Array<double>& a) { return {a.shape, {a.elements.begin(), a.elements.end()}}; }
/// Two layers whose heads are narrower than dim / heads.
Tensors model() {
  std::mt19937 rng(1);
  Tensors all{{"embedding.token", floats(gaussian(9, dim, rng))}};
  for (const std::string layer : {"layer.0.", "layer.1."}) {
    for (const char* what : {"query.weight", "key.weight"})
      all[layer + what] = floats(gaussian(dim, features, rng));
    for (const char* what : {"query.bias", "key.bias"})
      all[layer + what] = floats(gaussian(1, features, rng));
    all[layer + "value.weight"] = floats(gaussian(dim, dim, rng));
  }
  return all;
}
ScoreScale scale() { return {std::sqrt(1. / width), std::sqrt(double(heads) / double(dim))}; }
Conversion conversion(std::size_t shared, std::vector<std::size_t> layers = {0, 1}) {
  Conversion c;
  c.settings.dim = shared;
  c.layers = std::move(layers);
  c.scales = {scale(), scale()};
  return c;
}

double times(const std::vector<double>& x, const Array<float>& w, std::size_t column) {
  double sum = 0;
  for (std::size_t d = 0; d < dim; ++d) sum += x[d] * double(w.elements[d * w.shape[1] + column]);
  return sum;
}
/// scale (x W_Q^(i) + b_Q^(i)) . (y W_K^(i))
double score_before(const Tensors& t, std::size_t i, const std::vector<double>& x,
                    const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t f = i * width; f < (i + 1) * width; ++f)
    sum += (times(x, t.at("layer.1.query.weight"), f) + double(t.at("layer.1.query.bias").elements[f])) *
           times(y, t.at("layer.1.key.weight"), f);
  return scale().before * sum;
}
/// scale (sum_r M_ir (x . a_r) (b_r . y) + v_i . y)
double score_after(const Tensors& t, std::size_t i, const std::vector<double>& x,
                   const std::vector<double>& y) {
  const Array<float>& mixing = t.at("layer.1.mixing");
  const std::size_t shared = mixing.shape[1];
  double sum = times(y, t.at("layer.1.content_bias"), i);
  for (std::size_t r = 0; r < shared; ++r)
    sum += double(mixing.elements[i * shared + r]) * times(x, t.at("layer.1.query.weight"), r) *
           times(y, t.at("layer.1.key.weight"), r);
  return scale().after * sum;
}
/// The largest difference over heads and pairs of rows, over the largest score.
double largest_difference(const Tensors& after, const Array<double>& x, const Array<double>& y) {
  double difference = 0, largest = 0;
  const auto row = [](const Array<double>& a, std::size_t n) {
    return std::vector<double>(a.elements.begin() + std::ptrdiff_t(n * dim),
                               a.elements.begin() + std::ptrdiff_t((n + 1) * dim));
  };
  for (std::size_t i = 0; i < heads; ++i)
    for (std::size_t n = 0; n < x.shape[0]; ++n)
      for (std::size_t m = 0; m < y.shape[0]; ++m) {
        const double before = score_before(model(), i, row(x, n), row(y, m));
        difference = std::max(difference, std::abs(before - score_after(after, i, row(x, n), row(y, m))));
        largest = std::max(largest, std::abs(before));
      }
  return difference / largest;
}

TEST(Conversion, KeepsScoresFromAllFeaturesOn) {
  std::mt19937 rng(2);
  const Array<double> x = gaussian(4, dim, rng), y = gaussian(4, dim, rng);
  for (const std::size_t shared : {features, features + 3})
    EXPECT_LT(largest_difference(converted(model(), heads, conversion(shared)).parameters, x, y), 1e-6);
  EXPECT_GT(largest_difference(converted(model(), heads, conversion(2)).parameters, x, y), 1e-2);
}

/// Of a query of zero only the bias is left.
TEST(Conversion, KeepsTheBiasOfContentHoweverFewFeaturesAreShared) {
  std::mt19937 rng(3);
  const Tensors after = converted(model(), heads, conversion(1)).parameters;
  EXPECT_LT(largest_difference(after, zeros(1, dim), gaussian(4, dim, rng)), 1e-6);
}

TEST(Conversion, TellsTheLargestDifferenceOfScores) {
  std::mt19937 rng(4);
  Conversion c = conversion(2, {1});
  const Array<double> x = gaussian(5, dim, rng);
  c.seen = {x, x};
  const Converted all = converted(model(), heads, c);
  double largest = 0;
  const auto row = [&](std::size_t n) {
    return std::vector<double>(x.elements.begin() + std::ptrdiff_t(n * dim),
                               x.elements.begin() + std::ptrdiff_t((n + 1) * dim));
  };
  for (std::size_t i = 0; i < heads; ++i)
    for (std::size_t n = 0; n < 5; ++n)
      for (std::size_t m = 0; m < 5; ++m)
        largest = std::max(largest, std::abs(score_before(model(), i, row(n), row(m)) -
                                             score_after(all.parameters, i, row(n), row(m))));
  EXPECT_NEAR(all.reports.at(0).score_difference, largest, 1e-5 * largest);
  EXPECT_TRUE(std::isnan(converted(model(), heads, conversion(2)).reports.at(0).score_difference));
}

TEST(Conversion, LeavesEverythingElse) {
  const Converted all = converted(model(), heads, conversion(3, {1}));
  Tensors wanted = model();
  for (const char* gone : {"layer.1.query.bias", "layer.1.key.bias"}) wanted.erase(gone);
  for (const auto& [name, shape] :
       std::map<std::string, std::vector<std::size_t>>{{"layer.1.query.weight", {dim, 3}},
                                                       {"layer.1.key.weight", {dim, 3}},
                                                       {"layer.1.mixing", {heads, 3}},
                                                       {"layer.1.content_bias", {dim, heads}}}) {
    EXPECT_EQ(all.parameters.at(name).shape, shape);
    wanted[name] = all.parameters.at(name);
  }
  EXPECT_EQ(all.parameters, wanted);
  const LayerReport& r = all.reports.at(0);
  EXPECT_EQ(r.parameters_before, 2 * dim * features + 2 * features);
  EXPECT_EQ(r.parameters_after, (2 * dim + heads) * 3 + heads * dim);
  EXPECT_EQ(std::tuple(r.layer, r.features, r.dim), std::tuple(1U, features, 3U));
}

TEST(Conversion, DoesNotDependOnThreads) {
  Conversion c = conversion(3);
  std::vector<std::size_t> ready;
  c.ready = [&](std::size_t n) { ready.push_back(n); };
  const Tensors one = converted(model(), heads, c).parameters;
  c.threads = 4;
  EXPECT_EQ(converted(model(), heads, c).parameters, one);
  EXPECT_EQ(ready, (std::vector<std::size_t>{1, 2, 1, 2}));
}

/// In the metric of inputs that lie in three dimensions, three features of two heads are worth more.
TEST(Conversion, WhitensByInputs) {
  std::mt19937 rng(5);
  Array<double> x = gaussian(40, dim, rng);
  for (std::size_t k = 0; k < x.elements.size(); ++k)
    if (k % dim > 1) x.elements[k] *= 1e-3;
  Conversion c = conversion(3);
  c.seen = {x, x};
  const double plain = converted(model(), heads, c).reports.at(0).score_difference;
  c.whitened_by = {x, x};
  EXPECT_LT(converted(model(), heads, c).reports.at(0).score_difference, .5 * plain);
}

TEST(Conversion, RefusesWhatIsNotThere) {
  const auto fault = [](const Tensors& t, const Conversion& c) {
    try {
      converted(t, heads, c);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(model(), conversion(3, {2})), "layer.2.query.weight is not there");
  Tensors other = model();
  other["layer.0.query.bias"] = {{1, 3}, {1, 2, 3}};
  EXPECT_EQ(fault(other, conversion(2)), "a query bias of 3 elements for 4 features");
}

TEST(Conversion, OfHeadsThatShareGoesOnFromThem) {
  const Tensors once = converted(model(), heads, conversion(3, {1})).parameters;
  Conversion again = conversion(5, {1});
  again.scales[1] = {scale().after, scale().after};
  const Converted wider = converted(once, heads, again);
  EXPECT_EQ(wider.reports[0].features, 3U);
  EXPECT_EQ(wider.reports[0].parameters_before, (2 * dim + heads) * 3 + heads * dim);
  std::mt19937 rng(5);
  const Array<double> x = gaussian(7, dim, rng), y = gaussian(7, dim, rng);
  for (std::size_t i = 0; i < heads; ++i)
    for (std::size_t n = 0; n < 7; ++n) {
      const auto row = [&](const Array<double>& a) {
        return std::vector<double>(a.elements.begin() + std::ptrdiff_t(n * dim),
                                   a.elements.begin() + std::ptrdiff_t((n + 1) * dim));
      };
      EXPECT_EQ(score_after(wider.parameters, i, row(x), row(y)), score_after(once, i, row(x), row(y)));
    }
  again.settings.dim = 2;
  const Converted narrower = converted(once, heads, again);
  EXPECT_EQ(narrower.parameters.at("layer.1.content_bias"), once.at("layer.1.content_bias"));
  EXPECT_GE(narrower.reports[0].decomposition.error, narrower.reports[0].decomposition.floor);
  EXPECT_GT(narrower.reports[0].decomposition.error, 1e-3);
  EXPECT_LT(narrower.reports[0].decomposition.error, 1);
}

/// Those of the layers, which are float32.
TEST(Conversion, KnowsTheScaleOfEachArchitecture) {
  const auto of = [](const char* name) {
    return score_scales(
               configuration(
                   {{"model.architecture", name}, {"model.dim", "32"}, {"model.query_key_dim", "8"}}))
        .at(1);
  };
  EXPECT_EQ(of("mte").before, double{std::sqrt(.5F)});
  EXPECT_EQ(of("bert").after, double{std::sqrt(1.F / 8)});
  EXPECT_EQ(of("nap").before, 1);
  EXPECT_EQ(of("nap").ratio(), 1);
}

/// The first layer sees the embeddings, of 300 tokens a sequence in tiles.
TEST(Conversion, SeesTheInputsOfEachLayer) {
  const Config config = configuration({{"task.name", "mode"},
                                       {"task.length", "300"},
                                       {"model.dim", "4"},
                                       {"model.heads", "2"},
                                       {"model.layers", "3"},
                                       {"init.std", ".2"}});
  Learner learner(config);
  const Tensors parameters = tensors(learner.parameters(), &Parameters::value);
  const auto inputs = layer_inputs(config, parameters, Purpose::validation, 3);
  ASSERT_EQ(inputs.size(), 3U);
  const Sequences all = sequences(config, Purpose::validation, 300, 3, 300);
  const Array<float>& token = parameters.at("embedding.token");
  for (std::size_t n = 0; n < 900; ++n)
    for (std::size_t d = 0; d < 4; ++d)
      ASSERT_EQ(inputs[0].elements[n * 4 + d], double(token.elements[std::size_t(all.tokens[n]) * 4 + d]));
  for (const auto& x : inputs) EXPECT_EQ(x.shape, (std::vector<std::size_t>{900, 4}));
  EXPECT_NE(inputs[1].elements, inputs[0].elements);
  EXPECT_NE(inputs[2].elements, inputs[1].elements);
  Tensors other = parameters;
  other.erase("layer.0.key.bias");
  EXPECT_THROW(layer_inputs(config, other, Purpose::validation, 3), ConfigError);
}

TEST(Conversion, HasSecondMoments) {
  EXPECT_EQ(second_moments({{2, 2}, {1, 2, 3, 4}}), (Array<double>{{2, 2}, {5, 7, 7, 10}}));
}

}  // namespace
}  // namespace headlab::test
