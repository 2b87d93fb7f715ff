#include <gtest/gtest.h>

#include <filesystem>
#include <map>

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

/// Trials of each sweep as it was published: architectures x places x learning rates x seeds.
const std::map<std::string, std::size_t> published{{"demo", 6 * 2 * 2 * 2},
                                                   {"mode-model-dim", 6 * 8 * 10 * 5}};

TEST(Specs, EachHasTheNameOfItsFileAFindingAndThreeBudgets) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem();
    SCOPED_TRACE(name);
    ++files;
    ASSERT_TRUE(published.contains(name));
    EXPECT_EQ(plan(name, "paper").trials.size(), published.at(name));
    for (const char* budget : {"smoke", "small", "paper"}) {
      const SweepPlan p = plan(name, budget);
      EXPECT_EQ(p.specification.name, name);
      EXPECT_FALSE(p.specification.title.empty() || p.specification.finding.empty());
      EXPECT_LE(p.trials.size(), published.at(name));
      EXPECT_EQ(p.trials.size(), p.points) << "no point is another's double";
      EXPECT_TRUE(p.notes.empty()) << p.notes.front();
    }
  }
  EXPECT_EQ(files, published.size());
}

}  // namespace
}  // namespace headlab::test
