#include "sweeps/crew.hpp"

#include <gtest/gtest.h>

#include "core/config/write.hpp"
#include "tests/support/runner.hpp"

namespace headlab::test {
namespace {

struct CrewTest : RunnerTest {
  std::size_t guilty =
      static_cast<std::size_t>(std::ranges::find_if(plan.trials, is_guilty) - plan.trials.begin());
  std::size_t innocent = guilty == 0 ? 1 : 0;
  std::vector<std::string> said;

  Crew crew_of(std::size_t size, std::vector<std::string> worker) {
    return {size, std::move(worker), {getpid(), folder.path / "a", {}}, [this](std::string_view line) {
              said.emplace_back(line);
            }};
  }
  void begin(Crew& crew, std::size_t trial) const {
    crew.next_worker();
    crew.assign(trial, {plan.trials[trial].id, toml_text(core_only(), {plan.trials[trial].config, {}, {}})});
  }
  static Ended end(Crew& crew) {
    for (;;)
      if (const auto all = crew.wait(std::chrono::seconds(1)); !all.empty()) return all.at(0);
  }
};

TEST_F(CrewTest, AWorkerThatWaitsIsTakenBeforeOneIsStarted) {
  Crew crew = crew_of(2, scenario("crashes", "exit"));
  begin(crew, guilty);
  const pid_t second = crew.next_worker();
  begin(crew, innocent);
  for (int i = 0; i < 2; ++i) end(crew);
  EXPECT_EQ(crew.next_worker(), second) << "the first one has died";
}

TEST_F(CrewTest, LastWordsAreOfTheTrialThatCrashed) {
  Crew crew = crew_of(1, scenario("speaks-or-crashes", "of another\nand no more"));
  begin(crew, innocent);
  EXPECT_TRUE(end(crew).report);
  begin(crew, guilty);
  const Ended dead = end(crew);
  EXPECT_EQ(dead.death, "exit code 3");
  EXPECT_EQ(dead.last_words, "");
  EXPECT_EQ(said, std::vector<std::string>{"of another"});
}

TEST_F(CrewTest, LastWordsAreHeardThatAreSpokenAfterTheEnd) {
  Crew crew = crew_of(1, scenario("speaks-late", "too\nlate\n"));
  begin(crew, guilty);
  EXPECT_EQ(end(crew).last_words, "too; late");
  EXPECT_EQ(said, (std::vector<std::string>{"too", "late"}));
}

TEST_F(CrewTest, LastWordsAreTheLastOfMany) {
  Crew crew = crew_of(1, scenario("speaks-and-crashes", "one of many lines\n", "10000"));
  begin(crew, guilty);
  const std::string words = end(crew).last_words;
  EXPECT_LE(words.size(), 320u);
  EXPECT_TRUE(words.ends_with("one of many lines; one of many lines")) << words;
  EXPECT_EQ(said.size(), 10'000u);
}

/// They would fill the supervisor's memory.
TEST_F(CrewTest, WordsThatNeverEndALineAreHeardInPieces) {
  Crew crew = crew_of(1, scenario("speaks-and-crashes", "x", "1000000"));
  begin(crew, guilty);
  const std::string words = end(crew).last_words;
  EXPECT_EQ(words, std::string(words.size(), 'x'));
  EXPECT_GE(words.size(), 200u);
  EXPECT_LE(words.size(), 320u);
  std::size_t all = 0;
  for (const std::string& piece : said) {
    all += piece.size();
    EXPECT_LE(piece.size(), 10'000u);
  }
  EXPECT_GE(all, 990'000u);
}

TEST_F(CrewTest, AWorkerThatNeverStopsSpeakingIsKilledInTime) {
  const auto hear_slowly = [](std::string_view /*piece*/) {  // so that there are always more words
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  Crew crew(1, scenario("never-stops-speaking", std::string(60'000, 'x')), {getpid(), folder.path / "a", {}},
            hear_slowly);
  begin(crew, guilty);
  std::vector<Ended> all;
  while (all.empty()) {
    all = crew.wait(std::chrono::milliseconds(10));
    crew.kill_older_than(std::chrono::milliseconds(100), Killed::overdue);
  }
  EXPECT_EQ(all[0].killed, Killed::overdue);
}

}  // namespace
}  // namespace headlab::test
