// What heads share, arXiv:2006.16362: exact relations between forms, parameters, starts. Values and gradients
// against the definition: whole_model_test.cpp and the first test here.
#include "core/attention/shared_heads.hpp"

#include "core/model/initialise.hpp"
#include "core/model/operations.hpp"
#include "core/tasks/task.hpp"
#include "core/train/learner.hpp"
#include "tests/definitions/attention.hpp"
#include "tests/definitions/layers.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/variant.hpp"

namespace headlab::test {
namespace {

constexpr Index d = 6, heads = 3;

Config with(QueryKey query_key, Index query_key_dim) {
  Config config = small_config(heads, query_key_dim, d);
  config.model.query_key = query_key;
  return config;
}

/// The layers of one variant from embeddings on, every number random.
struct FromEmbeddings {
  Parameters parameters;
  Plan plan;

  FromEmbeddings(Architecture name, const Config& config, Chunk chunk = {7, 3})
      : plan(parameters, chunk, [=](Planner& p, Layers& layers) -> Ends {
          const Slot x = p.slot("x", d);
          return {{x}, aggregation(name).add(p, layers, "layer.0", x, config)};
        }) {
    std::mt19937 rng(1);
    fill(plan.context().value(plan.ends().inputs.front()), rng);
    for (const Region& r : parameters.entries()) fill(at(parameters.value, r), rng);
  }
  Matrix operator[](const std::string& name) {
    return at(parameters.value, *parameters.find("layer.0." + name));
  }
  Table<double> y() {
    plan.forward();
    return read(plan.context().value(plan.ends().output));
  }
};

void expect_same(const Table<double>& got, const Table<double>& want, double tolerance = 1e-6) {
  double squares = 0;
  for (const double w : want.data) squares += w * w;
  const double rms = std::sqrt(squares / double(want.data.size()));
  ASSERT_EQ(got.data.size(), want.data.size());
  for (std::size_t k = 0; k < want.data.size(); ++k)
    EXPECT_NEAR(got.data[k], want.data[k], tolerance * rms) << k;
}
void copy(const Matrix& from, const Matrix& to) {
  for (Index r = 0; r < from.rows; ++r) std::copy_n(from.row(r), from.cols, to.row(r));
}

/// l_hij = sum_r mixing_hr (x_i . w_Q,r) (w_K,r . x_j) + content_bias_h . x_j
template <class T>
Table<T> collaborative(const Tables<T>& in, Index length,
                       const std::function<Row<T>(const Row<T>&, Index)>& weights) {
  const Table<T>&x = in.at("x"), &wq = in.at("layer.0.query.weight"), &wk = in.at("layer.0.key.weight");
  const Table<T>&mixing = in.at("layer.0.mixing"), &content = in.at("layer.0.content_bias");
  const Table<T> value = plus_bias(linear(x, in.at("layer.0.value.weight")), in.at("layer.0.value.bias"));
  Table<T> o(d, x.cols);
  for (Index h = 0; h < mixing.rows; ++h)
    for (Index i = 0; i < x.cols; ++i) {
      Row<T> l(static_cast<std::size_t>(length));
      for (Index j = 0; j < length; ++j)
        for (Index f = 0; f < d; ++f) {
          const T& key_token = x(f, i / length * length + j);
          l[std::size_t(j)] += content(f, h) * key_token;
          for (Index r = 0; r < mixing.cols; ++r)
            for (Index g = 0; g < d; ++g)
              l[std::size_t(j)] += mixing(h, r) * x(g, i) * wq(g, r) * wk(f, r) * key_token;
        }
      const Row<T> a = weights(l, h);
      for (Index f = h * d / heads; f < (h + 1) * d / heads; ++f)
        for (Index j = 0; j < length; ++j) o(f, i) += a[std::size_t(j)] * value(f, i / length * length + j);
    }
  return o;
}

/// Narrower and wider than the model and not a multiple of the heads; nap in both forms, linear and not.
TEST(SharedHeads, CollaborativeMatchesItsDefinition) {
  for (const Index shared : {1, 4, 6, 9})
    for (const auto name : {Architecture::bert, Architecture::nap})
      for (const Index length : {Index{1}, Index{5}, Index{12}}) {
        FromEmbeddings layers(name, with(QueryKey::collaborative, shared), {length, 3});
        expect_matches_definition(layers.plan,
                                  [&]<class T>(const Tables<T>& in) {
                                    return collaborative<T>(in, length, [&](const Row<T>& l, Index h) {
                                      if (name == Architecture::bert)
                                        return softmax(scaled(l, 1 / std::sqrt(double(d) / heads)));
                                      return normalised(l, in.at("layer.0.nap.gain")(0, h),
                                                        in.at("layer.0.nap.bias")(0, h));
                                    });
                                  },
                                  {.scale = .5F});
      }
}

/// Concatenation is M of blocks of ones with v_i = W_K^(i) b_Q^(i), and b_K does not matter, in what a shift
/// of a query's logits leaves alone.
TEST(SharedHeads, ConcatenatedIsCollaborativeWithBlocks) {
  for (const auto name : {Architecture::bert, Architecture::mte, Architecture::nap}) {
    FromEmbeddings own(name, with(QueryKey::concatenated, d)), shared(name, with(QueryKey::collaborative, d));
    for (const Region& r : shared.parameters.entries())
      if (own.parameters.find(r.name) != nullptr)
        copy(at(own.parameters.value, *own.parameters.find(r.name)), at(shared.parameters.value, r));
    for (Index h = 0; h < heads; ++h) {
      for (Index r = 0; r < d; ++r) shared["mixing"](h, r) = r * heads / d == h ? 1 : 0;
      for (Index f = 0; f < d; ++f) {
        double bias = 0;
        for (Index r = h * d / heads; r < (h + 1) * d / heads; ++r)
          bias += double(own["key.weight"](f, r)) * double(own["query.bias"](0, r));
        shared["content_bias"](f, h) = float(bias);
      }
    }
    expect_same(shared.y(), own.y());
  }
}

/// A column of W_Q by alpha, of W_K by beta and of M by 1 / (alpha beta); any order of columns.
TEST(SharedHeads, DoesNotSeeScalesAndOrderOfSharedFeatures) {
  for (const auto name : {Architecture::mte, Architecture::nap}) {
    FromEmbeddings one(name, with(QueryKey::collaborative, 4)), other(name, with(QueryKey::collaborative, 4));
    for (Index r = 0; r < 4; ++r) {
      const float alpha = .5F + float(r), beta = r % 2 == 0 ? -2.F : .25F;
      const auto move = [&](const std::string& what, float scale) {
        const Matrix from = one[what], to = other[what];
        for (Index row = 0; row < from.rows; ++row) to(row, (r + 1) % 4) = scale * from(row, r);
      };
      move("query.weight", alpha), move("key.weight", beta), move("mixing", 1 / (alpha * beta));
    }
    expect_same(other.y(), one.y());
  }
}

/// All heads' keys are the one head's.
TEST(SharedHeads, MultiQueryIsConcatenatedWithEqualKeys) {
  for (const auto name : {Architecture::bert, Architecture::mte, Architecture::nap, Architecture::non}) {
    FromEmbeddings own(name, with(QueryKey::concatenated, d)), one(name, with(QueryKey::multi_query, d));
    for (const Region& r : one.parameters.entries()) {
      const Matrix from = at(one.parameters.value, r),
                   to = at(own.parameters.value, *own.parameters.find(r.name));
      for (Index first = 0; first < to.cols; first += from.cols) copy(from, columns(to, first, from.cols));
    }
    expect_same(one.y(), own.y(), 0);
  }
}

TEST(SharedHeads, CountsItsParameters) {
  for (const auto query_key : {QueryKey::concatenated, QueryKey::multi_query, QueryKey::collaborative}) {
    FromEmbeddings layers(Architecture::mte, with(query_key, 9));
    double count = 0;
    for (const Region& r : layers.parameters.entries())
      if (!r.name.starts_with("layer.0.value")) count += double(r.rows * r.cols);
    EXPECT_EQ(query_key_widths(with(query_key, 9).model).parameters, count);
  }
  // COLLABORATIVE 1: (2 D_in + M) D~_k + M D_in against 2 D_in D_k + 2 D_k; a token's keys
  EXPECT_EQ(query_key_widths(with(QueryKey::collaborative, 9).model).parameters, (2 * 6 + 3) * 9 + 3 * 6);
  EXPECT_EQ(query_key_widths(with(QueryKey::concatenated, 9).model).parameters, 2 * 6 * 9 + 2 * 9);
  EXPECT_EQ(query_key_widths(with(QueryKey::concatenated, 9).model).keys, 9);
  EXPECT_EQ(query_key_widths(with(QueryKey::multi_query, 9).model).keys, 3);
  EXPECT_EQ(query_key_widths(with(QueryKey::collaborative, 9).model).keys, 9 + 3);
}

TEST(SharedHeads, CountsOperationsOfProjectionsAndScores) {
  const Pairs tiny{{"model.layers", "1"},
                   {"model.dim", "8"},
                   {"model.heads", "2"},
                   {"task.length", "5"},
                   {"model.query_key_dim", "4"}};
  const auto of_a_token = [&](const std::string& query_key) {
    const Config config = configuration(tiny + Pairs{{"model.query_key", query_key}});
    const double rest = 2 * 8 * 32 + 2 * 8 * 8 + 8;  // feed-forward, value and mixing, readout
    return forward_operations(config, task(config.task.name).form(config), 1, 5) / (2 * 5) - rest;
  };
  EXPECT_EQ(of_a_token("concatenated"), 8 * (4 + 4) + 5 * (4 + 8));
  EXPECT_EQ(of_a_token("multi_query"), 8 * (4 + 2) + 5 * (4 + 8));
  EXPECT_EQ(of_a_token("collaborative"), 8 * (4 + 4 + 2) + 5 * (2 * (4 + 1) + 8));
}

/// Two layers of width 8, two heads, D_k = 4; of collaborative ones a content bias a head, too.
TEST(SharedHeads, CountsWhatQueriesAndKeysCost) {
  const auto costs = [](const Pairs& pairs) {
    const QueryKeyCosts c = query_key_costs(
        configuration(Pairs{{"model.dim", "8"}, {"model.heads", "2"}, {"model.query_key_dim", "4"}} + pairs));
    return std::tuple(c.parameters, c.key_cache, c.scores);
  };
  EXPECT_EQ(costs({}), std::tuple(2 * 9. * (4 + 4), 2 * 4., 2 * 4.));
  EXPECT_EQ(costs({{"model.query_key", "multi_query"}}), std::tuple(2 * 9. * (4 + 2), 2 * 2., 2 * 4.));
  EXPECT_EQ(costs({{"model.query_key", "collaborative"}}),
            std::tuple(2 * (8. * (4 + 4 + 2) + 2 * 4), 2 * (4. + 2), 2 * 2 * (4. + 1)));
  EXPECT_EQ(costs({{"model.architecture", "max"}}), std::tuple(0., 0., 0.));
  Config config =
      configuration({{"model.dim", "8"}, {"model.heads", "2"}, {"model.query_key", "collaborative"}});
  config.model.converted = {{QueryKey::concatenated, 6}, {QueryKey::collaborative, 3}};
  EXPECT_EQ(query_key_costs(config).key_cache, 6 + 3 + 2);
  EXPECT_EQ(query_key_costs(config).parameters, 9 * (6 + 6) + 8 * (3 + 3 + 2) + 2 * 3);
}

/// The mixing that a model starts with.
Table<double> start(const std::string& how, const std::string& query_key_dim,
                    const std::string& of_heads = "4") {
  Learner learner(configuration({{"model.query_key", "collaborative"},
                                 {"model.layers", "1"},
                                 {"model.heads", of_heads},
                                 {"model.query_key_dim", query_key_dim},
                                 {"init.mixing", how}}));
  for (const double bias :
       read(at(learner.parameters().value, *learner.parameters().find("layer.0.content_bias"))).data)
    EXPECT_EQ(bias, 0);
  return read(at(learner.parameters().value, *learner.parameters().find("layer.0.mixing")));
}

TEST(Mixing, StartsAsNamed) {
  EXPECT_EQ(start("ones", "3").data, std::vector<double>(12, 1));
  EXPECT_EQ(start("blocks", "5", "2").data, (std::vector<double>{1, 1, 1, 0, 0, 0, 0, 0, 1, 1}));
  const auto moments = [](const Table<double>& t) {
    double sum = 0, squares = 0, top = 0;
    for (const double x : t.data) sum += x, squares += x * x, top = std::max(top, std::abs(x));
    const double n = double(t.data.size());
    return std::array{sum / n, std::sqrt(squares / n), top};
  };
  // 4 * 2500 numbers: standard errors of .002 and .0014
  const auto [mean, deviation, top] = moments(start("normal", "2500"));
  EXPECT_NEAR(mean, 0, .008);
  EXPECT_NEAR(deviation, .2, .006);
  EXPECT_GT(top, .6);  // not truncated
  const double bound = std::sqrt(6. / 2504);
  const auto [centre, rms, largest] = moments(start("xavier", "2500"));
  EXPECT_NEAR(centre, 0, .04 * bound);
  EXPECT_NEAR(rms, bound / std::sqrt(3.), .02 * bound);
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, .99 * bound);
}

}  // namespace
}  // namespace headlab::test
