#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "core/log/atomic_file.hpp"
#include "experiments/configuration.hpp"
#include "sweeps/plan.hpp"

namespace headlab::test {
namespace {

const std::filesystem::path folder = HEADLAB_SPECS;

SweepPlan plan(const std::string& name, const std::string& budget) {
  const std::filesystem::path file = folder / (name + ".toml");
  return make_plan(all_keys(), read_specification(all_keys(), read_bytes(file), file, {budget, {}}));
}

std::vector<SweepAxis> axes(const SweepPlan& p) {
  std::vector<SweepAxis> all = p.specification.grid;
  all.insert(all.end(), p.specification.zip.begin(), p.specification.zip.end());
  return all;
}

std::vector<std::string> architectures(const SweepPlan& p) {
  const std::vector<SweepAxis> all = axes(p);
  const auto found = std::ranges::find(all, "model.architecture", &SweepAxis::key);
  return found == all.end() ? std::vector<std::string>{} : found->values;
}

/// Models of each sweep of arXiv 2005.09561: architectures x places x learning rates x seeds. Of the ablation
/// those that cases-model-dim has not.
const std::map<std::string, std::size_t> counted_by_the_paper{
    {"cases-model-dim", 6 * 8 * 10 * 5},
    {"cases-sequence-length", 6 * 8 * 10 * 5},
    {"cases-batch", 6 * 8 * 10 * 5},
    {"cases-first-token-model-dim", 6 * 8 * 10 * 5},
    {"cases-first-token-layers", 6 * 7 * 10 * 5},
    {"cases-first-token-heads", 4 * 8 * 10 * 5},
    {"mode-model-dim", 6 * 8 * 10 * 5},
    {"mode-vocabulary", 6 * 8 * 10 * 5},
    {"cases-dropout", 6 * 4 * 10 * 5},
    {"cases-first-token-dropout", 6 * 4 * 10 * 5},
    {"mode-dropout", 6 * 4 * 10 * 5},
    {"cases-l2", 6 * 4 * 10 * 5},
    {"cases-first-token-l2", 6 * 4 * 10 * 5},
    {"mode-l2", 6 * 4 * 10 * 5},
    {"ablation", 3 * 8 * 10 * 5},
};
const std::map<std::string, std::size_t> beyond{
    {"demo", 6 * 2 * 2 * 2},
    {"agreement", 6 * 8 * 10 * 5},  // those of mode-model-dim
    {"cases-bias", 6 * 8 * 10 * 5},
    {"local-global-bias", 6 * 8 * 10 * 5},
    {"cases-initialisation-scale", 6 * 8 * 10 * 5},
    {"mode-initialisation-scale", 6 * 8 * 10 * 5},
    {"relations-query-key-dim", 4 * 3 * 5 * 3 * 10},
};
constexpr std::size_t shared_by_the_ablation = 2 * 8 * 10 * 5;

std::size_t models(const std::string& name) {
  const auto counted = counted_by_the_paper.find(name);
  if (counted == counted_by_the_paper.end()) return beyond.at(name);
  return counted->second + (name == "ablation" ? shared_by_the_ablation : 0);
}

struct Spec : testing::TestWithParam<std::string> {};

TEST_P(Spec, HasItsFilesNameAFindingAndThreeBudgetsOfWholeGrids) {
  const SweepPlan paper = plan(GetParam(), "paper");
  EXPECT_EQ(paper.trials.size(), models(GetParam()));
  for (const char* budget : {"smoke", "small", "paper"}) {
    SCOPED_TRACE(budget);
    const SweepPlan p = plan(GetParam(), budget);
    EXPECT_EQ(p.specification.name, GetParam());
    EXPECT_FALSE(p.specification.title.empty() || p.specification.finding.empty());
    EXPECT_EQ(p.trials.size(), p.points) << "no point is another's double";
    EXPECT_TRUE(p.notes.empty()) << p.notes.front();
    EXPECT_EQ(architectures(p), architectures(paper));
    for (const SweepAxis& axis : axes(p)) EXPECT_GE(axis.values.size(), 2U) << axis.key;
  }
}

std::vector<std::string> names_of_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, Spec, testing::ValuesIn(names_of_files()), [](const auto& spec) {
  std::string word = spec.param;
  std::ranges::replace(word, '-', '_');
  return word;
});

TEST(Specs, AreThoseOfThePaperWithAllItsModels) {
  const auto add = [](std::size_t sum, const auto& row) { return sum + row.second; };
  EXPECT_EQ(std::accumulate(counted_by_the_paper.begin(), counted_by_the_paper.end(), std::size_t{}, add),
            26'500U);
  std::set<std::string> names;
  for (const auto* rows : {&counted_by_the_paper, &beyond})
    for (const auto& [name, trials] : *rows) names.insert(name);
  const auto files = names_of_files();
  EXPECT_EQ(names, std::set(files.begin(), files.end()));
}

TEST(Specs, OfTheAblationEndInTrialsOfItsFirstAndLastArchitecture) {
  for (const char* budget : {"smoke", "small", "paper"}) {
    SCOPED_TRACE(budget);
    const SweepPlan walk = plan("ablation", budget);
    const auto ids = walk.ids();
    const std::set<std::string> walked(ids.begin(), ids.end());
    std::size_t ends = 0;
    for (const PlannedTrial& t : plan("cases-model-dim", budget).trials) {
      const bool is_end = t.config.model.architecture == Architecture::bert ||
                          t.config.model.architecture == Architecture::mte;
      EXPECT_EQ(walked.contains(t.id), is_end) << t.id;
      ends += is_end ? 1 : 0;
    }
    EXPECT_EQ(walked.size(), ends / 2 * 5);
  }
}

TEST(Specs, OfTheAblationChangeOneThingAStep) {
  const std::vector<SweepAxis> settings = plan("ablation", "paper").specification.zip;
  for (std::size_t step = 1; step < settings.front().values.size(); ++step) {
    const auto changes = std::ranges::count_if(settings, [&](const SweepAxis& axis) {
      return axis.key != "model.architecture" && axis.values[step] != axis.values[step - 1];
    });
    EXPECT_EQ(changes, 1) << step;
  }
}

}  // namespace
}  // namespace headlab::test
