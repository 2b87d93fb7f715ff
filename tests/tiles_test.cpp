// Long chunks, in which layers that work token by token see tiles.
#include "core/model/model.hpp"
#include "core/tasks/task.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/definition.hpp"

namespace headlab::test {
namespace {

TEST(Tiles, AreAsManyAsNeededAndOfWholeLines) {
  for (const Index most : {32, 256})
    for (Index tokens = 1; tokens < 2100; ++tokens) {
      const Chunk chunk{tokens, 1, most};
      const Index tile = chunk.tile(), tiles = (tokens + tile - 1) / tile;
      EXPECT_LE(tile, most);
      EXPECT_EQ(tiles, (tokens + most - 1) / most) << tokens;
      EXPECT_EQ((tiles - 1) * tile + chunk.last_tile(), tokens);
      EXPECT_GT(chunk.last_tile(), 0);
      EXPECT_EQ(chunk.is_one_tile(), tiles == 1);
      if (tiles == 1)
        EXPECT_EQ(tile, tokens);
      else
        EXPECT_EQ(tile % 32, 0);
    }
}

/// Loss, logits and the parameters' gradients after two steps' chunks.
struct Given {
  std::vector<double> losses;
  Tables<double> logits, gradients;
};

Given results(const Config& config, const Chunk& chunk) {
  const Form form = task(config.task.name).form(config);
  Parameters parameters;
  Plan plan(parameters, chunk, model(config, form));
  std::mt19937 rng(5);
  for (const Region& r : parameters.entries()) fill(at(parameters.value, r), rng, .5F);
  parameters.zero_gradients();
  Given given;
  for (std::uint64_t step = 0; step < 2; ++step) {
    Sequences s{chunk.sequences, chunk.length, {}, {}, {}};
    sequences(config, Purpose::training, step, s);
    plan.work.tokens = s.tokens;
    plan.work.labels = s.labels;
    plan.work.answer_weight = 1.F / static_cast<float>(s.labels.size());
    plan.work.masks = Masks{9, step, 0};
    plan.forward();
    plan.backward();
    given.losses.push_back(plan.work.loss);
    given.logits.emplace(std::to_string(step), read(plan.context().value(plan.ends().output)));
  }
  for (const Region& r : parameters.entries())
    given.gradients.emplace(r.name, read(at(parameters.gradient, r)));
  expect_padding(parameters);
  return given;
}

double rms(const Table<double>& t) {
  double squares = 0;
  for (const double x : t.data) squares += x * x;
  return std::sqrt(squares / double(t.data.size()));
}

/// Against the tensor's rms, or where it vanishes the rounding of the loss, about 1, or the largest gradient.
void expect_alike(const Tables<double>& got, const Tables<double>& want) {
  double largest = 0;
  for (const auto& [name, table] : want) largest = std::max(largest, rms(table));
  ASSERT_GT(largest, 0);
  for (const auto& [name, table] : want) {
    const double bound = std::max({1e-4 * rms(table), 2e-7, 2e-6 * largest});
    double error = 0;
    for (std::size_t k = 0; k < table.data.size(); ++k)
      error = std::max(error, std::abs(got.at(name).data[k] - table.data[k]));
    EXPECT_LE(error, bound) << name;
  }
}

/// In tiles, and as one tile.
void expect_the_same(const Pairs& pairs, Index length, Index sequences, Index most) {
  const Config config = configuration(
      pairs + Pairs{{"task.length", std::to_string(length)}, {"train.batch", std::to_string(sequences)}});
  std::string what = fmt::format("{} x {}", sequences, length);
  for (const auto& [key, value] : pairs) what.append(", ").append(key).append(" = ").append(value);
  SCOPED_TRACE(what);
  const Given tiles = results(config, {length, sequences, most}),
              whole = results(config, {length, sequences, length * sequences});
  for (std::size_t k = 0; k < whole.losses.size(); ++k)
    EXPECT_NEAR(tiles.losses[k], whole.losses[k], 1e-4 * double(config.train.batch));
  expect_alike(tiles.logits, whole.logits);
  expect_alike(tiles.gradients, whole.gradients);
}

std::vector<Pairs> architectures() {
  std::vector<Pairs> all;
  for (const auto word : split(words(Architecture{})))
    all.push_back({{"model.architecture", std::string(word)}});
  return all;
}
const Pairs narrow{{"model.dim", "8"}, {"model.heads", "2"}, {"model.feed_forward", "20"}};

TEST(Tiles, GiveWhatTheWholeGives) {
  for (const Pairs& kind : architectures())
    for (const std::string dropout : {"0", "0.3"}) {
      const Pairs one = narrow + kind + Pairs{{"model.dropout", dropout}};
      expect_the_same(one, 300, 1, 256);
      expect_the_same(one + Pairs{{"task.readout", "first_token"}}, 513, 1, 256);
    }
}

TEST(Tiles, MayCrossSequences) {
  for (const Pairs& kind : architectures())
    for (const std::string placement : {"bert", "mte"})
      for (const std::string dropout : {"0", "0.3"})
        for (const std::string task : {"argmin_first_argmax", "mode", "local_global"})
          expect_the_same(
              narrow + kind +
                  Pairs{{"model.dropout", dropout}, {"model.norm_placement", placement}, {"task.name", task}},
              37, 5, 32);
}

/// Of planned products, too: 64 x 256 x a tile's or the last tile's columns.
TEST(Tiles, GiveWhatTheWholeGivesInWideModels) {
  for (const Pairs& kind : architectures())
    expect_the_same(kind + Pairs{{"model.dim", "64"}, {"model.layers", "1"}}, 301, 1, 256);
}

}  // namespace
}  // namespace headlab::test
