// Masks, the layer, and dropout in whole models. What attention and models compute with a mask is checked
// against their definitions in attention_test and whole_model_test.
#include "tests/definitions/dropout.hpp"

#include "core/layers/dropout.hpp"
#include "core/model/model.hpp"
#include "core/tasks/task.hpp"
#include "core/train/learner.hpp"
#include "tests/definitions/layers.hpp"
#include "tests/support/configuration.hpp"
#include "tests/support/variant.hpp"

namespace headlab::test {
namespace {

constexpr Masks masks{.seed = 3, .step = 5, .first = 7};

struct Case {
  Chunk chunk;
  Index rows;
  double rate;
  Drops drops;
  bool with_x, with_bias, one_slot;  ///< one_slot: u is x

  Ends operator()(Planner& p, Layers& layers) const {
    const Slot u = p.slot("u", rows), x = with_x && !one_slot ? p.slot("x", rows) : u;
    const auto bias = with_bias ? std::optional(p.parameter("bias", 1, rows)) : std::nullopt;
    const auto summand = with_x ? std::optional(x) : std::nullopt;
    const Slot y = layers.add<Dropout>(p, "here", summand, u, bias, rate, drops).y();
    return {with_x && !one_slot ? std::vector{x, u} : std::vector{u}, y};
  }
  template <class T>
  Table<T> defined(const Tables<T>& in, const std::optional<Table<double>>& mask) const {
    Table<T> u = with_bias ? plus_bias(in.at("u"), in.at("bias")) : in.at("u");
    if (mask) u = product(*mask, u);
    return with_x ? sum(in.at(one_slot ? "u" : "x"), u) : u;
  }
  Table<double> mask() const {
    return factors({"here", rate, chunk.length, drops == Drops::shared}, masks, rows, chunk.tokens());
  }
};

/// One token, odd sizes, more than one block of lanes or bits, a pitch that would be a multiple of 128.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [chunk, rows] :
       std::initializer_list<std::pair<Chunk, Index>>{{{1, 1}, 37}, {{7, 3}, 33}, {{33, 1}, 5}, {{64, 2}, 3}})
    for (const double rate : {.5, .1})
      for (const Drops drops : {Drops::each, Drops::shared})
        for (const bool bias : {false, true}) {
          all.push_back({chunk, rows, rate, drops, false, bias, false});
          all.push_back({chunk, rows, rate, drops, true, bias, false});
          all.push_back({chunk, rows, rate, drops, true, bias, true});
        }
  return all;
}

TEST(Dropout, MatchesItsDefinition) {
  for (const Case& each : cases())
    for (const auto& mask : {std::optional(each.mask()), std::optional<Table<double>>()})
      for (const double passes : {1., 2.}) {
        Parameters parameters;
        Plan plan(parameters, each.chunk, [&](Planner& p, Layers& layers) {
          Ends ends = each(p, layers);
          if (passes > 1) std::ranges::for_each(ends.inputs, [&](const Slot& x) { p.use(x); });
          return ends;
        });
        plan.work.masks = mask ? std::optional(masks) : std::nullopt;
        expect_matches_definition(plan, [&](const auto& in) { return each.defined(in, mask); },
                                  {.input_passes = passes});
      }
}

TEST(Dropout, NamesWhatItRejects) {
  Parameters parameters;
  Planner p(parameters, {4, 2});
  const Slot x = p.slot("x", 3), u = p.slot("u", 5), first = p.slot("first", 3, Axis::sequences);
  expect_config_error([&] { Dropout(p, "a", {}, first, {}, .5); }, "a: 2 columns are not 8 tokens");
  expect_config_error([&] { Dropout(p, "a", {}, u, p.parameter("bias", 1, 3), .5); },
                      "a: 3 biases for 5 features");
  expect_config_error([&] { Dropout(p, "a", x, u, {}, .5); }, "a: cannot add 5 x 8 to 3 x 8");
}

/// The output of a plan whose every input is 1.
Table<double> of_ones(Plan& plan, const Masks& drawn) {
  for (const Slot& x : plan.ends().inputs)
    for (Index r = 0; r < x.rows; ++r) std::fill_n(plan.context().value(x).row(r), x.cols, 1.F);
  plan.work.masks = drawn;
  plan.forward();
  return read(plan.context().value(plan.ends().output));
}
Build dropping(const std::string& name, Index rows, double rate) {
  return [=](Planner& p, Layers& layers) -> Ends {
    const Slot u = p.slot("u", rows);
    return {{u}, layers.add<Dropout>(p, name, std::optional<Slot>(), u, std::nullopt, rate).y()};
  };
}

/// Two masks of 2^15 values agree in a share (1 - p)^2 + p^2 of them.
TEST(Dropout, HasOtherMasksForEachSiteStepSeedAndSequence) {
  constexpr double rate = .3, agreeing = .7 * .7 + .3 * .3;
  std::vector<std::vector<double>> drawn;
  const auto draw = [&](const std::string& site, const Masks& at) {
    Parameters parameters;
    Plan plan(parameters, {128, 1}, dropping(site, 256, rate));
    drawn.push_back(of_ones(plan, at).data);
  };
  for (const std::string site : {"embedding.dropout", "layer.0.mix_dropout", "layer.1.mix_dropout",
                                 "layer.0.output_dropout", "layer.0.attention.dropout"})
    draw(site, {1, 1, 0});
  draw("embedding.dropout", {1, 2, 0});
  draw("embedding.dropout", {2, 1, 0});
  draw("embedding.dropout", {1, 1, 1});
  for (std::size_t a = 0; a < drawn.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const auto n = double(drawn[a].size());
      double same = 0;
      for (std::size_t k = 0; k < drawn[a].size(); ++k) same += drawn[a][k] == drawn[b][k];
      EXPECT_NEAR(same / n, agreeing, 5 * std::sqrt(agreeing * (1 - agreeing) / n)) << a << ' ' << b;
    }
}

TEST(Dropout, HasTheSameMasksInChunksOfAnySize) {
  Parameters parameters;
  Plan all(parameters, {21, 6}, dropping("here", 40, .1));
  const Table<double> whole = of_ones(all, {1, 2, 0});
  for (const Index together : {1, 2, 3}) {
    Plan some(parameters, {21, together}, dropping("here", 40, .1));
    for (Index first = 0; first < 6; first += together) {
      const Table<double> part = of_ones(some, {1, 2, first});
      for (Index f = 0; f < part.rows; ++f)
        for (Index t = 0; t < part.cols; ++t) ASSERT_EQ(part(f, t), whole(f, first * 21 + t));
    }
  }
}

/// Of 4096 steps. Values are sums of independent ones, so that their mean's errors are normal.
struct Mean {
  Table<double> sum, squares;
  double steps = 0;

  explicit Mean(const Table<double>& like) : sum(like.rows, like.cols), squares(sum) {}
  void add(const Table<double>& y) {
    ++steps;
    for (std::size_t k = 0; k < y.data.size(); ++k) {
      sum.data[k] += y.data[k];
      squares.data[k] += y.data[k] * y.data[k];
    }
  }
  /// Each within six of its standard errors, and their squares' mean near 1.
  void expect(const Table<double>& want, const std::string& what) const {
    double total = 0;
    for (std::size_t k = 0; k < want.data.size(); ++k) {
      const double mean = sum.data[k] / steps, variance = squares.data[k] / steps - mean * mean;
      const double error = (mean - want.data[k]) / std::sqrt(variance / steps);
      EXPECT_LT(std::abs(error), 6) << what << ' ' << k;
      total += error * error;
    }
    EXPECT_LT(total / double(want.data.size()), 1.5) << what;
  }
};
Mean over_steps(Plan& plan, const Table<double>& without) {
  Mean mean(without);
  for (std::uint64_t step = 0; step < 4096; ++step) {
    plan.work.masks = Masks{1, step, 0};
    plan.forward();
    mean.add(read(plan.context().value(plan.ends().output)));
  }
  return mean;
}
Table<double> without_masks(Plan& plan) {
  plan.work.masks = {};
  plan.forward();
  return read(plan.context().value(plan.ends().output));
}

TEST(Dropout, LeavesTheMeanAsItIs) {
  for (const double rate : {.5, .1, .9})
    for (const Drops drops : {Drops::each, Drops::shared}) {
      Parameters parameters;
      Plan plan(parameters, {9, 2}, Case{{9, 2}, 37, rate, drops, true, true, false});
      std::mt19937 rng(1);
      const Context c = plan.context();
      for (const Slot& x : plan.ends().inputs) fill(c.value(x), rng);
      fill(at(parameters.value, *parameters.find("bias")), rng);
      const Table<double> y = without_masks(plan);
      over_steps(plan, y).expect(y, fmt::format("{} {}", rate, int(drops)));
    }
}

TEST(Dropout, LeavesTheMeanOfAttentionAsItIs) {
  for (const auto name : {Architecture::bert, Architecture::nap, Architecture::non}) {
    Alone attention(name, {9, 2}, 2, 4, 6, .25);
    std::mt19937 rng(1);
    attention.fill_inputs(rng);
    if (name == Architecture::nap) attention.set_nap(1.5F, .25F);
    const Table<double> y = without_masks(attention.plan);
    over_steps(attention.plan, y).expect(y, word(name));
  }
}

const Pairs small{{"model.dim", "8"},    {"model.heads", "2"}, {"task.length", "12"},
                  {"train.batch", "10"}, {"seed", "4"},        {"model.dropout", "0.25"}};

std::vector<Pairs> architectures() {
  std::vector<Pairs> all;
  for (const auto name : split(words(Architecture{})))
    all.push_back(small + Pairs{{"model.architecture", std::string(name)}});
  return all;
}
constexpr auto never = [] { return false; };

TEST(Dropout, IsOffInEvaluation) {
  for (const Pairs& pairs : architectures()) {
    Learner with(configuration(pairs)), without(configuration(pairs + Pairs{{"model.dropout", "0"}}));
    ASSERT_EQ(with.parameters().value, without.parameters().value);
    const Sequences batch = with.batch(0);
    with.differentiate(0, batch, never);  // leaves no mask behind
    EXPECT_NEAR(with.evaluate(batch, never)->loss, without.evaluate(batch, never)->loss, 1e-6);
    const std::vector<float> a = with.logits(batch), b = without.logits(batch);
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-6);
  }
}

TEST(Dropout, OfAStepIsAlwaysTheSame) {
  for (const Pairs& pairs : architectures()) {
    Learner learner(configuration(pairs)), other(configuration(pairs));
    const Sequences batch = learner.batch(0);
    const double loss = learner.differentiate(3, batch, never)->loss;
    EXPECT_NE(learner.differentiate(4, batch, never)->loss, loss);
    EXPECT_EQ(learner.differentiate(3, batch, never)->loss, loss);
    EXPECT_EQ(other.differentiate(3, batch, never)->loss, loss);
    EXPECT_EQ(other.parameters().gradient, learner.parameters().gradient);
  }
}

/// The sum of a batch's losses, gradients added up, in chunks of `together` sequences.
double in_chunks(Learner& learner, const Config& config, const Sequences& batch, Index together) {
  Plan plan(learner.parameters(), {batch.length, together}, model(config, learner.form()));
  learner.parameters().zero_gradients();
  double loss = 0;
  for (Index first = 0; first < batch.count; first += together) {
    const auto from = std::size_t(first), count = std::size_t(together), length = std::size_t(batch.length);
    plan.work.tokens = std::span(batch.tokens).subspan(from * length, count * length);
    plan.work.labels = std::span(batch.labels).subspan(from, count);
    plan.work.answer_weight = 1.F / float(batch.count);
    plan.work.masks = Masks{std::uint64_t(config.seed), 3, first};
    plan.forward();
    plan.backward();
    loss += plan.work.loss / double(batch.count);
  }
  return loss;
}

TEST(Dropout, GivesTheSameLossAndGradientsInChunksOfAnySize) {
  for (const Pairs& pairs : architectures()) {
    const Config config = configuration(pairs);
    Learner learner(config);
    const Sequences batch = learner.batch(0);
    const double loss = learner.differentiate(3, batch, never)->loss;  // ten sequences in one chunk
    const Block gradient = learner.parameters().gradient;
    for (const Index together : {1, 2, 5}) {
      EXPECT_NEAR(in_chunks(learner, config, batch, together), loss, 1e-6);
      for (std::size_t k = 0; k < gradient.size(); ++k)
        EXPECT_NEAR(learner.parameters().gradient[k], gradient[k], 1e-6);
    }
  }
}

}  // namespace
}  // namespace headlab::test
