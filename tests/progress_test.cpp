#include "sweeps/progress.hpp"

#include <gtest/gtest.h>

namespace headlab::test {
namespace {

struct ProgressTest : testing::Test {
  std::string out;
  double now = 100;
  std::size_t columns = 80;
  Progress progress(bool live, std::size_t width = 80) {
    columns = width;
    return {{[this](std::string_view text) { out += text; }, live, [this] { return columns; }},
            [this] { return now; }};
  }
  std::string taken() { return std::exchange(out, ""); }
};
const Tally tally{
    .planned = 4000, .done = 1200, .diverged = 1, .failed = 2, .running = 4, .ran = 10, .seconds_left = 240};

TEST(ProgressLine, SaysWhatIsKnown) {
  EXPECT_EQ(progress_line({.planned = 3}, 0), "0 of 3 done");
  EXPECT_EQ(progress_line(tally, 20),
            "1,200 of 4,000 done, 1 diverged, 2 failed, 4 running, 1,800 models an hour, 4 min left");
  EXPECT_EQ(progress_line({.planned = 3, .done = 3, .ran = 3}, 3600), "3 of 3 done, 3 models an hour");
}

TEST(ProgressLine, RoundsTimeUp) {
  const std::pair<double, const char*> cases[] = {{0, "0 s"},
                                                  {.2, "1 s"},
                                                  {99, "99 s"},
                                                  {99.5, "2 min"},
                                                  {121, "3 min"},
                                                  {5940, "99 min"},
                                                  {5941, "1 h 40 min"},
                                                  {172740, "47 h 59 min"},
                                                  {172800, "2 d 0 h"},
                                                  {176400.5, "2 d 2 h"},
                                                  {1e99, "more than 100 days"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(duration(seconds), text) << seconds;
}

TEST_F(ProgressTest, IsAPlainLineEveryHalfMinuteWithoutATerminal) {
  Progress p = progress(false, 20);
  p.show(tally);
  now += 29.9;
  p.show(tally);
  EXPECT_EQ(taken(), "");
  now += .1;
  p.show(tally);
  EXPECT_EQ(taken(), progress_line(tally, 30) + "\n");
  now += 29;
  p.show(tally);
  EXPECT_EQ(taken(), "");
  p.say("trial x failed");
  p.finish(tally);
  const std::string end = taken();
  EXPECT_EQ(end, "trial x failed\n" + progress_line(tally, 59) + "\n");
  EXPECT_EQ(end.find('\r'), end.npos);
}

TEST_F(ProgressTest, IsOneLiveLineThatFitsOnATerminal) {
  Progress p = progress(true, 21);
  now += .15;
  p.show(tally);
  EXPECT_EQ(taken(), "");
  now += .15;
  p.show(tally);
  EXPECT_EQ(taken(), "\r1,200 of 4,000 done\x1b[J\r");
  p.say("trial x failed");
  EXPECT_EQ(taken(), "\x1b[Jtrial x failed\n");
  p.say("trial y failed");
  EXPECT_EQ(taken(), "trial y failed\n");
  p.finish(tally);
  EXPECT_EQ(taken(), "\r1,200 of 4,000 done\x1b[J\r\n");
}

TEST_F(ProgressTest, IsNeverCutInsideANumber) {
  const std::string whole = progress_line(tally, 1e6);
  for (std::size_t width = 0; width <= whole.size() + 2; ++width) {
    Progress p = progress(true, width);
    p.finish(tally);
    const std::string line = taken(), shown = line.substr(1, line.size() - 6);
    EXPECT_LE(shown.size(), width);
    EXPECT_TRUE(shown.empty() ||
                std::string(", ").find(progress_line(tally, 0)[shown.size()]) != std::string::npos ||
                shown == progress_line(tally, 0))
        << shown;
  }
}

/// A terminal that wraps what it holds anew when its width changes, as most do: all since the last line feed.
struct WrappingTerminal {
  std::string line{};
  std::size_t cursor = 0;

  void take(std::string_view text, std::size_t width) {
    for (; !text.empty(); text.remove_prefix(1))
      if (text.starts_with("\x1b[J")) {
        line.resize(cursor);
        text.remove_prefix(2);
      } else if (text.front() == '\r') {
        cursor -= cursor % width;
      } else {
        line.resize(std::max(line.size(), cursor + 1), ' ');
        line[cursor++] = text.front();
      }
  }
};

TEST_F(ProgressTest, StaysOneLineOfATerminalThatBecomesNarrower) {
  Progress p = progress(true, 70);
  WrappingTerminal terminal;
  for (const std::size_t width : {70u, 30u, 21u, 10u, 70u, 30u}) {
    columns = width;
    now += 1;
    p.show(tally);
    terminal.take(taken(), width);
    EXPECT_EQ(terminal.line.find("1,200 of"), 0U) << terminal.line;
    EXPECT_EQ(terminal.line.rfind("1,200 of"), 0U) << terminal.line;
    EXPECT_LT(terminal.line.size(), width);
  }
}

TEST_F(ProgressTest, FitsOnNoColumnsToo) {
  for (const std::size_t width : {0u, 1u}) {
    Progress p = progress(true, width);
    p.finish(tally);
    EXPECT_EQ(taken(), "\r\x1b[J\r\n");
  }
}

}  // namespace
}  // namespace headlab::test
