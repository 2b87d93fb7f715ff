// Whole models, loss included, against the paper's equations: values and every parameter's gradient.
#include <fmt/ranges.h>

#include "core/model/initialise.hpp"
#include "core/tasks/task.hpp"
#include "core/train/learner.hpp"
#include "tests/definitions/model.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

const Pairs tiny{{"model.dim", "4"},        {"model.heads", "2"},      {"model.feed_forward", "5"},
                 {"task.vocabulary", "7"},  {"task.length", "5"},      {"model.layers", "1"},
                 {"task.first_token", "2"}, {"task.argmin_token", "3"}};

Sequences random_sequences(const Form& form, Index count, Index length) {
  std::mt19937 rng(7);
  Sequences s{count, length, {}, {}, {}};
  const auto draw = [&](Index n, Index below) {
    std::vector<std::int32_t> v;
    for (Index i = 0; i < n; ++i) v.push_back(std::int32_t(rng() % std::uint64_t(below)));
    return v;
  };
  const bool positions = form.of_positions || form.answer == Answer::across_tokens;
  s.tokens = draw(count * length, form.vocabulary);
  s.labels = draw((form.answer == Answer::every_token ? count * length : count) * form.answers,
                  positions ? length : form.classes);
  return s;
}

template <class T>
T mean_loss(const Config& config, const Form& form, const Tables<T>& parameters, const Sequences& s,
            std::uint64_t step) {
  T total = 0;
  for (Index b = 0, answer = 0; b < s.count; ++b) {
    const auto tokens = std::span(s.tokens).subspan(std::size_t(b * s.length), std::size_t(s.length));
    const Masks masks{std::uint64_t(config.seed), step, b};
    for (const auto& logits : ModelDefinition<T>(config, form, parameters).logits(tokens, masks))
      total += cross_entropy(logits, s.labels[std::size_t(answer++)]);
  }
  return total / double(s.labels.size());
}

/// Every number random, so that no gain is 1 and no bias 0.
void fill_all(Parameters& parameters) {
  std::mt19937 rng(3);
  for (const Region& r : parameters.entries()) fill(at(parameters.value, r), rng, .5F);
}
Tables<double> tables(Parameters& parameters, Block Parameters::* block) {
  Tables<double> all;
  for (const Region& r : parameters.entries()) all.emplace(r.name, read(at(parameters.*block, r)));
  return all;
}
double rms(const Table<double>& t) {
  double squares = 0;
  for (const double x : t.data) squares += x * x;
  return std::sqrt(squares / double(t.data.size()));
}

class WholeModel : public testing::TestWithParam<Pairs> {};

void expect_matches_definition(const Config& config) {
  Learner learner(config);
  const Form& form = learner.form();
  for (const auto& [count, length] : {std::pair<Index, Index>{2, 5}, {1, 3}}) {
    const Sequences s = random_sequences(form, count, length);
    learner.logits(s);  // plans its chunks
    fill_all(learner.parameters());
    const auto measured = learner.differentiate(6, s, [] { return false; });
    const Tables<double> in = tables(learner.parameters(), &Parameters::value);
    const Tables<double> got = tables(learner.parameters(), &Parameters::gradient);
    EXPECT_NEAR(measured->loss, mean_loss(config, form, in, s, 6), 2e-6);

    double largest = 0;
    for (const auto& [name, table] : got) largest = std::max(largest, rms(table));
    Tables<std::complex<double>> step;
    for (const auto& [name, table] : in) step.emplace(name, table);
    for (auto& [name, table] : step) {
      Table<double> want = in.at(name);
      for (std::size_t k = 0; k < want.data.size(); ++k) {
        table.data[k].imag(1e-50);
        want.data[k] = mean_loss(config, form, step, s, 6).imag() / 1e-50;
        table.data[k].imag(0);
      }
      // A gradient that is exactly zero (a key's bias under softmax) has the rounding of the loss, about 1,
      // or of the largest gradient.
      const double tolerance = std::max({1e-4 * rms(want), 2e-7, 1e-6 * largest});
      for (std::size_t k = 0; k < want.data.size(); ++k)
        EXPECT_NEAR(got.at(name).data[k], want.data[k], tolerance) << name << '[' << k << ']';
    }
  }
}

TEST_P(WholeModel, MatchesItsDefinition) { expect_matches_definition(configuration(tiny + GetParam())); }

TEST(WholeModelOfConvertedLayers, MatchesItsDefinition) {
  for (const std::string architecture : {"bert", "mte", "nap"}) {
    Config config = configuration(tiny + Pairs{{"model.architecture", architecture},
                                               {"model.layers", "3"},
                                               {"model.query_key", "collaborative"},
                                               {"model.query_key_dim", "3"}});
    config.model.converted = {
        {QueryKey::collaborative, 3}, {QueryKey::concatenated, 6}, {QueryKey::collaborative, 2}};
    expect_matches_definition(config);
  }
}

/// Of a sequence in tiles along one direction, in which every parameter is.
TEST_P(WholeModel, MatchesItsDefinitionOverTiles) {
  const Config config = configuration(tiny + GetParam() + Pairs{{"task.length", "270"}});
  Learner learner(config);
  const Sequences s = random_sequences(learner.form(), 1, 270);
  fill_all(learner.parameters());
  const auto measured = learner.differentiate(6, s, [] { return false; });
  const Tables<double> in = tables(learner.parameters(), &Parameters::value);
  EXPECT_NEAR(measured->loss, mean_loss(config, learner.form(), in, s, 6), 1e-5);

  std::mt19937 rng(8);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 4; ++k) {
    Tables<std::complex<double>> moved;
    double got = 0, size = 0;
    for (const auto& [name, gradient] : tables(learner.parameters(), &Parameters::gradient)) {
      auto& table = moved.emplace(name, in.at(name)).first->second;
      for (std::size_t i = 0; i < table.data.size(); ++i) {
        const double along = normal(rng);
        table.data[i].imag(1e-50 * along);
        got += along * gradient.data[i];
        size += gradient.data[i] * gradient.data[i];
      }
    }
    EXPECT_NEAR(got, mean_loss(config, learner.form(), moved, s, 6).imag() / 1e-50, 1e-4 * std::sqrt(size));
  }
}

TEST_P(WholeModel, ListsLogitsAnswerByAnswer) {
  const Config config = configuration(tiny + GetParam());
  Learner learner(config);
  fill_all(learner.parameters());
  const Sequences s = random_sequences(learner.form(), 7, 5);
  const std::vector<float> got = learner.logits(s);
  const Tables<double> in = tables(learner.parameters(), &Parameters::value);
  std::size_t k = 0;
  for (Index b = 0; b < s.count; ++b) {
    const auto tokens = std::span(s.tokens).subspan(std::size_t(b * s.length), std::size_t(s.length));
    for (const auto& answer : ModelDefinition<double>(config, learner.form(), in).logits(tokens))
      for (const double logit : answer) EXPECT_NEAR(got.at(k++), logit, 1e-5);
  }
  EXPECT_EQ(k, got.size());
}

std::vector<Pairs> kinds() {
  std::vector<Pairs> all;
  for (const std::string task : {"argmin_first_argmax", "mode", "local_global"})
    for (const auto architecture : split(words(Architecture{})))
      all.push_back({{"task.name", task}, {"model.architecture", std::string(architecture)}});
  for (const auto architecture : split(words(Architecture{}))) {
    const Pairs kind{{"model.architecture", std::string(architecture)}};
    all.push_back(kind + Pairs{{"task.readout", "first_token"}, {"model.layers", "2"}});
    for (const std::string placement : {"bert", "mte"})
      for (const std::string gelu : {"false", "true"})
        all.push_back(kind + Pairs{{"model.norm_placement", placement}, {"model.attention_gelu", gelu}});
    for (const std::string placement : {"bert", "mte"})
      all.push_back(kind + Pairs{{"model.dropout", "0.3"},
                                 {"model.norm_placement", placement},
                                 {"model.layers", "2"},
                                 {"seed", "9"}});
  }
  for (const std::string architecture : {"mte", "nap", "sum"})
    all.push_back({{"task.name", "multi_relation"},
                   {"task.values", "3"},
                   {"task.relations", "2"},
                   {"model.architecture", architecture}});
  all.push_back({{"model.query_key_dim", "6"}});
  for (const std::string architecture : {"bert", "mte", "nap"})
    for (const auto& [dim, dropout] : {std::pair{"3", "0"}, {"1", "0.3"}})
      all.push_back({{"model.architecture", architecture},
                     {"model.query_key", "collaborative"},
                     {"model.query_key_dim", dim},
                     {"model.dropout", dropout}});
  for (const std::string architecture : {"mte", "nap", "non"})
    all.push_back({{"model.architecture", architecture}, {"model.query_key", "multi_query"}});
  all.push_back({{"model.heads", "1"}, {"model.norm_epsilon", "0.1"}});
  all.push_back({{"model.architecture", "nap"}, {"model.attention_epsilon", "0.1"}});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Kinds, WholeModel, testing::ValuesIn(kinds()), [](const auto& p) {
  std::string name;
  for (const auto& [key, value] : p.param)
    for (const char c : value + "_") name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}{}", name, p.index);
});

/// Parameters of a layer at d = 128, four heads: the published counts.
TEST(Parameters, AreAsManyInEachArchitecture) {
  const std::map<std::string, Index> published{{"bert", 198'272}, {"mte", 199'552}, {"nap", 199'560},
                                               {"non", 199'296},  {"sum", 199'811}, {"max", 199'811}};
  for (const auto& [architecture, count] : published) {
    Learner learner(configuration({{"model.architecture", architecture}, {"model.dropout", "0.5"}}));
    Index layer = 0, input = 0, output = 0;
    for (const Region& r : learner.parameters().entries())
      (r.name.starts_with("layer.0.")     ? layer
       : r.name.starts_with("embedding.") ? input
                                          : output) += r.rows * r.cols;
    EXPECT_EQ(layer, count) << architecture;
    EXPECT_EQ(input, 100 * 128 + 128 * 128);
    EXPECT_EQ(output, 128 + 1 + count) << "readout and layer 1";
  }
}

TEST(Initialisation, DependsOnNameRowAndSeedOnly) {
  const auto embedding = [](const Pairs& pairs, const char* name) {
    Learner learner(configuration(pairs));
    return tables(learner.parameters(), &Parameters::value).at(name);
  };
  const auto usual = embedding({}, "embedding.position");
  const auto longer =
      embedding({{"task.length", "200"}, {"model.architecture", "max"}}, "embedding.position");
  EXPECT_TRUE(std::equal(usual.data.begin(), usual.data.end(), longer.data.begin()));
  EXPECT_NE(embedding({{"seed", "1"}}, "embedding.position").data, usual.data);
  EXPECT_NE(embedding({}, "layer.0.mix.weight").data, embedding({}, "layer.1.mix.weight").data);
  for (const double x : usual.data) EXPECT_LE(std::abs(x), .04);
  EXPECT_NEAR(rms(usual), .02 * .8796, 2e-4);
  for (const double x : embedding({{"model.architecture", "nap"}}, "layer.0.nap.gain").data) EXPECT_EQ(x, 1);
  for (const double x : embedding({}, "layer.0.query.bias").data) EXPECT_EQ(x, 0);
}

/// The rows' addresses are kept for ever: FNV-1a of the name, here as it is known, and the row.
TEST(Initialisation, DrawsEachRowAtItsAddress) {
  Learner learner(configuration({{"seed", "3"}, {"init.std", "0.5"}}));
  for (const auto& [name, hash] :
       {std::pair<std::string, std::uint64_t>{"embedding.position", 6096436141442227175U},
        {"layer.1.mix.weight", 14512384000169770719U}}) {
    const Matrix m = at(learner.parameters().value, *learner.parameters().find(name));
    for (const std::uint64_t row : {0U, 1U, 100U}) {
      Stream stream(3, Purpose::initialisation, hash, row);
      for (Index c = 0; c < m.cols; ++c)
        EXPECT_EQ(m(Index(row), c), float(.5 * stream.truncated_normal())) << name;
    }
  }
}

}  // namespace
}  // namespace headlab::test
