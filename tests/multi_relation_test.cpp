// multi_relation: labels against maps found from sequences alone, what is random, chance, keys.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/tasks/task.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

using Map = std::vector<std::int32_t>;

Config relations(const std::string& family, int keys, int values, int count, int seed = 0) {
  return configuration({{"task.name", "multi_relation"},
                        {"task.relation", family},
                        {"task.length", std::to_string(keys)},
                        {"task.values", std::to_string(values)},
                        {"task.relations", std::to_string(count)},
                        {"seed", std::to_string(seed)}});
}

/// A sequence once more, as key and value; n labels a token.
struct Pair {
  std::int32_t key, value;
  Map labels;
};
std::vector<std::vector<Pair>> drawn(const Config& c, int count, int values,
                                     Purpose purpose = Purpose::test) {
  const Sequences all = sequences(c, purpose, 0, count, c.task.length);
  const std::size_t n = all.labels.size() / all.tokens.size();
  std::vector<std::vector<Pair>> out(static_cast<std::size_t>(count));
  for (std::size_t t = 0; t < all.tokens.size(); ++t) {
    const auto first = all.labels.begin() + static_cast<std::ptrdiff_t>(t * n);
    out[t / static_cast<std::size_t>(c.task.length)].push_back(
        {all.tokens[t] / values, all.tokens[t] % values, Map(first, first + static_cast<std::ptrdiff_t>(n))});
  }
  return out;
}

/// The maps by relation and key: the only key whose value is the label in every sequence, or -1.
std::vector<Map> found_maps(const std::vector<std::vector<Pair>>& all) {
  const std::size_t keys = all[0].size(), n = all[0][0].labels.size();
  std::vector<Map> maps(n, Map(keys, -1));
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < keys; ++k)
      for (std::size_t other = 0; other < keys; ++other) {
        const bool fits = std::ranges::all_of(all, [&](const std::vector<Pair>& sequence) {
          const auto at = [&](std::size_t key) {
            return std::ranges::find(sequence, static_cast<std::int32_t>(key), &Pair::key);
          };
          return at(k)->labels[r] == at(other)->value;
        });
        if (fits) {
          EXPECT_EQ(maps[r][k], -1) << "two keys fit";
          maps[r][k] = static_cast<std::int32_t>(other);
        }
      }
  return maps;
}
std::vector<Map> maps_of(const std::string& family, int keys, int count, int seed = 0) {
  return found_maps(drawn(relations(family, keys, 5, count, seed), 60, 5));
}
bool is_permutation(const Map& map) {
  return std::set(map.begin(), map.end()).size() == map.size() && std::ranges::min(map) == 0 &&
         std::ranges::max(map) == std::ssize(map) - 1;
}

TEST(MultiRelation, SequencesHoldEveryKeyOnceWithItsValue) {
  for (const int keys : {1, 2, 7, 16})
    for (const std::vector<Pair>& sequence : drawn(relations("permutation", keys, 5, 2), 50, 5)) {
      std::set<std::int32_t> there;
      for (const Pair& p : sequence) {
        there.insert(p.key);
        EXPECT_TRUE(p.key >= 0 && p.key < keys && p.value >= 0 && p.value < 5);
      }
      EXPECT_EQ(std::ssize(there), keys);
    }
}

TEST(MultiRelation, LabelsAreValuesOfRelatedKeys) {
  for (const int seed : {0, 1, 2}) {
    std::set<std::int32_t> shifts;
    for (const Map& map : maps_of("shift", 7, 4, seed)) {
      for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(map[k], (static_cast<int>(k) + map[0]) % 7);
      shifts.insert(map[0]);
    }
    EXPECT_EQ(shifts.size(), 4U);
    EXPECT_FALSE(shifts.contains(0));

    const std::vector<Map> free = maps_of("permutation", 7, 4, seed), same = maps_of("same", 7, 4, seed);
    for (const Map& map : free) EXPECT_TRUE(is_permutation(map));
    EXPECT_EQ(std::set(free.begin(), free.end()).size(), 4U);
    EXPECT_TRUE(is_permutation(same[0]));
    for (const Map& map : same) EXPECT_EQ(map, same[0]);
  }
}

TEST(MultiRelation, DisjointMapsMoveTheirOwnGroupAlone) {
  for (const int seed : {0, 1, 2}) {
    const std::vector<Map> maps = maps_of("disjoint", 7, 3, seed);
    const std::vector<std::int32_t> first{0, 2, 4, 7};  // of each group
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_TRUE(is_permutation(maps[r]));
      for (std::int32_t k = 0; k < 7; ++k) {
        const std::int32_t to = maps[r][static_cast<std::size_t>(k)];
        if (k >= first[r] && k < first[r + 1])
          EXPECT_TRUE(to >= first[r] && to < first[r + 1]);
        else
          EXPECT_EQ(to, k);
      }
    }
  }
}

/// Chi-square of counts that are to be equal, at most five standard deviations above its mean.
template <class Thing>
void expect_uniform(const std::map<Thing, double>& counts, std::size_t kinds) {
  ASSERT_EQ(counts.size(), kinds);
  double total = 0, chi_square = 0;
  for (const auto& [thing, n] : counts) total += n;
  const double each = total / static_cast<double>(kinds), freedom = static_cast<double>(kinds) - 1;
  for (const auto& [thing, n] : counts) chi_square += (n - each) * (n - each) / each;
  EXPECT_LE(chi_square, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(MultiRelation, OrdersAndValuesAreUniform) {
  std::map<Map, double> orders, values;
  std::map<std::tuple<std::size_t, int, int>, double> places;
  for (const std::vector<Pair>& sequence : drawn(relations("same", 4, 3, 1), 20'000, 3, Purpose::training)) {
    Map order(4), value(4);
    for (std::size_t t = 0; t < 4; ++t) {
      order[t] = sequence[t].key;
      value[static_cast<std::size_t>(sequence[t].key)] = sequence[t].value;
      ++places[{t, sequence[t].key, sequence[t].value}];
    }
    ++orders[order], ++values[value];
  }
  expect_uniform(orders, 24);
  expect_uniform(values, 81);
  expect_uniform(places, 4 * 4 * 3);
}

TEST(MultiRelation, MapsAreUniformOverSeeds) {
  std::map<Map, double> shifts, free, second, disjoint;
  for (int seed = 0; seed < 2'000; ++seed) {
    const auto first_keys = [&](const std::string& family, int keys, int count) {
      Map all;
      for (const Map& map : found_maps(drawn(relations(family, keys, 1000, count, seed), 3, 1000)))
        all.insert(all.end(), map.begin(), map.end());
      return all;
    };
    const Map pair = first_keys("shift", 4, 2), maps = first_keys("permutation", 3, 2);
    ++shifts[{pair[0], pair[4]}];
    ++free[{maps[0], maps[1], maps[2]}];
    ++second[{maps[3], maps[4], maps[5]}];
    const Map groups = first_keys("disjoint", 4, 2);
    ++disjoint[{groups[0], groups[6]}];
  }
  expect_uniform(shifts, 6);  // two of 1, 2, 3 in either order
  expect_uniform(free, 6);
  expect_uniform(second, 6);
  expect_uniform(disjoint, 4);
}

TEST(MultiRelation, MapsAreOfTheSeedAlone) {
  const Config c = relations("permutation", 7, 5, 3);
  const std::vector<Map> maps = found_maps(drawn(c, 60, 5));
  EXPECT_EQ(found_maps(drawn(c, 60, 5, Purpose::training)), maps);
  EXPECT_EQ(found_maps(drawn(c, 60, 5, Purpose::validation)), maps);
  EXPECT_NE(maps_of("permutation", 7, 3, 1), maps);
  EXPECT_NE(sequences(c, Purpose::training, 0, 4, 7).tokens, sequences(c, Purpose::training, 1, 4, 7).tokens);
  const Sequences many = sequences(c, Purpose::test, 3, 50, 7), few = sequences(c, Purpose::test, 3, 9, 7);
  EXPECT_TRUE(std::ranges::equal(few.tokens, std::span(many.tokens).first(few.tokens.size())));
  EXPECT_TRUE(std::ranges::equal(few.labels, std::span(many.labels).first(few.labels.size())));
}

/// Over all K! V^K sequences, made plainly, of the best label for each place and relation.
TEST(MultiRelation, ChanceIsTheBestConstantAnswers) {
  for (const std::string family : {"shift", "permutation", "same", "disjoint"})
    for (const int values : {2, 3}) {
      const Config c = relations(family, 3, values, 2);
      const Task& t = task(c.task.name);
      std::vector<std::map<std::int32_t, double>> right(6);
      double total = 0;
      Map order{0, 1, 2};
      do {
        for (int code = 0; code < values * values * values; ++code, ++total) {
          Map tokens, labels(6);
          for (const int key : order) {
            const int value = key == 0   ? code % values
                              : key == 1 ? code / values % values
                                         : code / values / values;
            tokens.push_back(key * values + value);
          }
          t.label(c, tokens, labels);
          for (std::size_t k = 0; k < 6; ++k) ++right[k][labels[k]];
        }
      } while (std::ranges::next_permutation(order).found);
      double best = 0;
      for (const auto& answers : right)
        best +=
            std::ranges::max_element(answers, {}, [](const auto& a) { return a.second; })->second / total / 6;
      EXPECT_NEAR(t.chance(c, true, 3), best, 1e-14) << family;
      EXPECT_EQ(t.chance(c, false, 3), t.chance(c, true, 3));
    }
}

TEST(MultiRelation, HasAFormOfPairsAndSeveralAnswers) {
  const Config c = relations("shift", 16, 8, 4);
  const Form f = task(c.task.name).form(c);
  EXPECT_EQ(std::tuple(f.vocabulary, f.positions, f.answer, f.classes, f.of_positions, f.answers, f.values),
            std::tuple(128, false, Answer::every_token, 8, false, 4, 8));
  EXPECT_EQ(f.outputs(), 32);
}

std::string fault(const Pairs& pairs) try {
  configuration(Pairs{{"task.name", "multi_relation"}} + pairs);
  return "none";
} catch (const ConfigError& e) {
  return e.what();
}

TEST(MultiRelation, KeysRefuseWhatCannotBe) {
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(configuration({{"task.name", "multi_relation"}}).task.length, 16);
  EXPECT_EQ(fault({{"task.relations", "16"}}),
            "test: task.relations: 16 is not below, for different shifts, task.length = 16");
  EXPECT_EQ(fault({{"task.relations", "16"}, {"task.relation", "disjoint"}}), "none");
  EXPECT_EQ(fault({{"task.relations", "17"}, {"task.relation", "disjoint"}}),
            "test: task.relations: 17 is not at most, for disjoint groups, task.length = 16");
  EXPECT_EQ(fault({{"task.relations", "17"}, {"task.relation", "same"}}), "none");
  EXPECT_EQ(fault({{"task.values", "1048577"}}),
            "test: task.values: 1048577 is not at most 16777216 pairs over task.length = 16");
  EXPECT_EQ(fault({{"eval.relative_lengths", "1,0.5"}}),
            "test: eval.relative_lengths: 1,0.5 is not 1 alone, as a sequence has every key, for task.name = "
            "multi_relation");
}

}  // namespace
}  // namespace headlab::test
