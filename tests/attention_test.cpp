#include "tests/definitions/attention.hpp"

#include "tests/definitions/dropout.hpp"
#include "tests/definitions/layers.hpp"
#include "tests/support/variant.hpp"

namespace headlab::test {
namespace {

constexpr Masks masks{.seed = 3, .step = 5, .first = 7};

WeightMask weight_mask(Architecture name, Index length, const Config& config) {
  if (config.model.dropout == 0) return [](Index, Index, Index) { return 1; };
  const std::string layer = name == Architecture::nap ? "layer.0.nap" : "layer.0.attention";
  return [length, site = Site{layer + ".dropout", config.model.dropout, length}](Index h, Index i, Index j) {
    return site.factor(masks, masks.first + i / length, h * length + j, i % length);
  };
}

/// The definition of a variant as a generic function of the tables of its inputs and parameters.
auto definition(Architecture name, Index length, const Config& config) {
  return [=, m = config.model,
          mask = weight_mask(name, length, config)]<class T>(const Tables<T>& in) -> Table<T> {
    const double scale = std::sqrt(double(m.heads) / double(m.query_key_dim));
    const auto heads = [&](const auto& weights) {
      return attention(in.at("query"), in.at("key"), in.at("value"), length, m.heads, weights, mask);
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
        return pooled(in.at("x"), length, total<T>);
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

/// Checks a variant as the only consumer of its inputs, and with later ones to whose gradients it must add.
class InEveryShape : public testing::TestWithParam<Case> {
 protected:
  void check(float scale, double dropout = 0) const {
    const auto& [name, shape] = GetParam();
    const Config config = small_config(shape.heads, shape.query_key_dim, shape.dim, dropout);
    for (const bool shared : {false, true}) {
      Parameters parameters;
      Plan plan(parameters, shape.chunk, [&](Planner& p, Layers& layers) {
        Ends ends = alone(aggregation(name), config)(p, layers);
        if (shared) p.use(ends.inputs.front());
        return ends;
      });
      plan.work.masks = masks;
      expect_matches_definition(plan, definition(name, shape.chunk.length, config),
                                {.input_passes = shared ? 2. : 1., .scale = scale});
    }
  }
};
std::string case_name(const testing::TestParamInfo<Case>& p) {
  const auto& [name, shape] = p.param;
  return fmt::format("{}_{}x{}_{}_{}_{}", word(name), shape.chunk.sequences, shape.chunk.length, shape.heads,
                     shape.query_key_dim, shape.dim);
}
/// One token, one and several sequences and heads, odd lengths, narrower and wider queries than values, more
/// than one block of lanes, a pitch that would be a multiple of 128.
const Shape shapes[] = {
    {{1, 1}, 1, 1, 1}, {{1, 5}, 2, 2, 4}, {{7, 3}, 2, 4, 6}, {{33, 1}, 3, 6, 3}, {{8, 16}, 1, 2, 2}};
INSTANTIATE_TEST_SUITE_P(Shapes, InEveryShape,
                         testing::Combine(testing::ValuesIn(architectures()), testing::ValuesIn(shapes)),
                         case_name);

/// Of softmax each width that has a kernel of its own and wider heads, where weights are kept (32 tokens) and
/// where they are not, in whole and broken blocks of lanes, with a sequence after each.
const Shape softmax_shapes[] = {
    {{32, 1}, 2, 2, 2}, {{32, 2}, 1, 2, 2}, {{32, 1}, 1, 3, 3}, {{32, 2}, 1, 4, 4},  {{32, 1}, 1, 5, 5},
    {{32, 1}, 1, 9, 6}, {{8, 2}, 2, 2, 2},  {{16, 3}, 1, 1, 1}, {{37, 1}, 1, 2, 2},  {{19, 2}, 1, 3, 3},
    {{9, 3}, 1, 4, 4},  {{40, 1}, 1, 4, 4}, {{17, 2}, 1, 5, 5}, {{34, 1}, 1, 16, 17}};
INSTANTIATE_TEST_SUITE_P(Softmax, InEveryShape,
                         testing::Combine(testing::Values(Architecture::mte),
                                          testing::ValuesIn(softmax_shapes)),
                         case_name);

TEST_P(InEveryShape, MatchesItsDefinition) { check(1); }
TEST_P(InEveryShape, MatchesItsDefinitionWhereLogitsAreMillionths) { check(1e-3F); }
TEST_P(InEveryShape, MatchesItsDefinitionWithDropout) { check(1, .3); }

Build from_embeddings(Architecture name, const Config& config) {
  return [=](Planner& p, Layers& layers) -> Ends {
    const Slot x = p.slot("x", 5);
    return {{x}, aggregation(name).add(p, layers, "layer.0", x, config)};
  };
}

/// With the names of parameters. (Where a shift of all logits changes nothing, no gradient reaches the keys'
/// bias, so the check is on the variant where it does.)
TEST(Aggregation, MakesQueriesKeysAndValuesOfEmbeddings) {
  const Config config = small_config(2, 4, 6);
  Parameters parameters;
  Plan plan(parameters, {7, 3}, from_embeddings(Architecture::non, config));
  expect_matches_definition(plan, [&]<class T>(const Tables<T>& in) {
    Tables<T> inside;
    for (const std::string part : {"query", "key", "value"})
      inside.emplace(part, plus_bias(linear(in.at("x"), in.at("layer.0." + part + ".weight")),
                                     in.at("layer.0." + part + ".bias")));
    return definition(Architecture::non, 7, config)(inside);
  });
}

/// arXiv:2006.16362 3.2: q . b_K is the same for all keys of a query.
TEST(Aggregation, SeesTheKeysBiasOnlyWithoutNormalisation) {
  for (const auto name : {Architecture::bert, Architecture::mte, Architecture::nap, Architecture::non}) {
    Parameters parameters;
    Plan plan(parameters, {7, 3}, from_embeddings(name, small_config(2, 4, 6)));
    std::mt19937 rng(1);
    fill(plan.context().value(plan.ends().inputs.front()), rng);
    for (const Region& r : parameters.entries()) fill(at(parameters.value, r), rng);
    plan.forward();
    const Table<double> before = read(plan.context().value(plan.ends().output));
    fill(at(parameters.value, *parameters.find("layer.0.key.bias")), rng);
    plan.forward();
    const Table<double> after = read(plan.context().value(plan.ends().output));
    double change = 0;
    for (std::size_t k = 0; k < before.data.size(); ++k)
      change = std::max(change, std::abs(after.data[k] - before.data[k]));
    EXPECT_EQ(change > 1e-4, name == Architecture::non) << word(name) << ": " << change;
  }
}

TEST(Aggregation, PoolsEmbeddingsThemselves) {
  for (const auto name : {Architecture::sum, Architecture::max}) {
    Parameters parameters;
    Plan plan(parameters, {7, 3}, from_embeddings(name, small_config(2, 4, 5)));
    EXPECT_TRUE(parameters.entries().empty());
    expect_matches_definition(plan, definition(name, 7, {}));
  }
}

TEST(Aggregation, NamesWhatItRejects) {
  Parameters parameters;
  Planner p(parameters, {4, 1});
  Layers layers;
  Config config = small_config(2, 3, 4);
  const Slot x = p.slot("x", 4), qkv = p.slot("qkv", 11);
  const Aggregation& mte = aggregation(Architecture::mte);
  expect_config_error([&] { mte.add(p, layers, "layer.0", x, config); },
                      "layer.0.attention: cannot cut 3 features of queries and 4 of values into 2 heads");
  config.model.query_key_dim = 4;
  expect_config_error([&] { mte.aggregate(p, layers, "layer.0", qkv, config); },
                      "layer.0.attention: 11 features for queries and keys of 4, values of 4");
}

/// Runs forward and, from a random gradient, backward; gives inputs and parameters by name.
Tables<double> run(Alone& variant, std::mt19937& rng) {
  fill(variant.output_gradient(), rng);
  variant.parameters.zero_gradients();
  variant.plan.forward();
  variant.plan.backward();
  Tables<double> in;
  for (std::size_t k = 0; k < variant.inputs.size(); ++k)
    in.emplace(variant.inputs[k].name, read(variant.input(k)));
  for (const Region& r : variant.parameters.entries()) in.emplace(r.name, read(variant.parameter(r.name)));
  return in;
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
  const Tables<double> in = run(nap, rng);
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

/// The linear form's variance is a difference of larger numbers: what is left of queries across all keys'
/// differences.
TEST(LinearNormalised, HoldsWhereVariancesAreNearlyZero) {
  constexpr Chunk chunk{40, 2};
  Alone nap(Architecture::nap, chunk, 1, 4, 3);
  std::mt19937 rng(1);
  nap.fill_inputs(rng);
  for (Index t = 0; t < chunk.tokens(); ++t) {
    nap.input(1)(3, t) = 2;  // the same for all keys
    for (Index f = 0; f < 3; ++f) nap.input(0)(f, t) *= t % 2 ? 1e-4F : 1e-2F;
  }
  nap.set_nap(1.5F, .25F);
  const Tables<double> in = run(nap, rng);
  const auto defined = definition(Architecture::nap, chunk.length, nap.config);
  const auto compare = [&](const std::string& name, const Matrix& got, const Table<double>& want) {
    double squares = 0, errors = 0;
    for (Index r = 0; r < got.rows; ++r)
      for (Index c = 0; c < got.cols; ++c) {
        squares += want(r, c) * want(r, c);
        errors += std::pow(double(got(r, c)) - want(r, c), 2);
      }
    EXPECT_LT(std::sqrt(errors), 1e-4 * std::sqrt(squares)) << name;
  };
  compare("y", nap.output(), defined(in));
  for (std::size_t k = 0; k < 3; ++k)
    compare(nap.inputs[k].name, nap.gradient(k),
            derivative(in, nap.inputs[k].name, read(nap.output_gradient()), defined));
}

/// With dropout, off here, the direct form runs; it keeps N x N weights.
TEST(LinearForm, IsTheDirectOneWithoutItsWeights) {
  constexpr Chunk chunk{96, 2};
  for (const auto name : {Architecture::nap, Architecture::non}) {
    Alone linear(name, chunk, 2, 8, 8), direct(name, chunk, 2, 8, 8, .5);
    for (Alone* one : {&linear, &direct}) {
      std::mt19937 rng(1);
      one->fill_inputs(rng);
      if (name == Architecture::nap) one->set_nap(1.5F, .25F);
      run(*one, rng);
    }
    EXPECT_LT(linear.plan.context().arena.kept.size(), direct.plan.context().arena.kept.size() / 4);
    expect_close("y", linear.output(), read(direct.output()), 1);
    for (std::size_t k = 0; k < 3; ++k)
      expect_close(linear.inputs[k].name, linear.gradient(k), read(direct.gradient(k)), 1);
    EXPECT_NE(read(linear.output()).data, read(direct.output()).data) << "one form made both";
  }
}

/// Numbers of few bits, and means over 8 tokens, so that logits of up to 200 are exact.
TEST(Softmax, DoesNotSeeWhatIsAddedToAllLogits) {
  Alone softmax(Architecture::mte, {8, 2}, 1, 4, 3);
  std::mt19937 rng(1);
  fill(softmax.input(2), rng);
  const auto set_keys = [&](float base) {
    for (Index f = 0; f < 4; ++f)
      for (Index t = 0; t < 16; ++t) {
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

}  // namespace
}  // namespace headlab::test
