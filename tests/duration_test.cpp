#include "core/base/duration.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "experiments/options.hpp"

namespace headlab::test {
namespace {

TEST(Duration, IsReadInUnits) {
  const std::pair<const char*, double> texts[]{
      {"90s", 90}, {"90m", 5400}, {"2h", 7200},    {"1d", 86400},       {"1.5h", 5400},
      {".5s", .5}, {"0s", 0},     {"1h30m", 5400}, {"1d2h3m4s", 93784}, {"1h.5s", 3600.5}};
  for (const auto& [text, seconds] : texts) {
    ASSERT_TRUE(read_duration(text)) << text;
    EXPECT_DOUBLE_EQ(read_duration(text)->count(), seconds) << text;
  }
}

TEST(Duration, IsReadAsSlurmWritesIt) {
  const std::pair<const char*, double> texts[]{{"1-12:00:00", 129600}, {"1-01:02:03", 90123},
                                               {"0-0:00:10", 10},      {"00:30:00", 1800},
                                               {"36:00:00", 129600},   {"1:02:03", 3723}};
  for (const auto& [text, seconds] : texts) {
    ASSERT_TRUE(read_duration(text)) << text;
    EXPECT_DOUBLE_EQ(read_duration(text)->count(), seconds) << text;
  }
}

TEST(Duration, IsNothingElse) {
  for (const char* text : {"",          "90",        "s",          "h",
                           "-1s",       "1 h",       "1H",         "1m2h",
                           "1s1s",      "1e3",       "nans",       "infs",
                           "1w",        "2min",      "1h30",       "90:00",
                           "1-12",      "1-12:00",   "1-24:00:00", "1:60:00",
                           "1:00:60",   "1:0:00",    "-1:00:00",   "1:00:0",
                           "1::00",     "1:2:3:4",   "1-:00:00",   "-1-1:00:00",
                           "1.5:00:00", "1:00:00s",  "1e9d",       "9999999-00:00:00",
                           "+1s",       "1--1:00:00"})
    EXPECT_FALSE(read_duration(text)) << text;
}

TEST(Duration, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(duration("--walltime", "2h").count(), 7200);
  try {
    duration("--walltime", "90");
    ADD_FAILURE() << "no error";
  } catch (const ConfigError& e) {
    EXPECT_STREQ(e.what(), "--walltime: 90 is not a duration, such as 90s, 90m, 2h or 1-12:00:00");
  }
}

TEST(Duration, IsWrittenAsItIsRead) {
  const std::pair<double, const char*> texts[]{
      {0, "0s"},    {.25, "0.25s"},       {90, "1m30s"},          {7200, "2h"}, {3661.4, "1h1m1s"},
      {600, "10m"}, {86399, "23h59m59s"}, {129600, "1-12:00:00"}, {59.7, "1m"}};
  for (const auto& [seconds, text] : texts) {
    EXPECT_EQ(to_text(Seconds(seconds)), text);
    EXPECT_NEAR(read_duration(text)->count(), seconds, .5) << text;
  }
}

TEST(Duration, IsAnOptionsValue) {
  CommandLine line;
  line.own = {{"walltime", "1-12:00:00"}, {"wrong", "soon"}};
  Seconds walltime{1}, wrong{2}, absent{3};
  read(line, "walltime", walltime);
  read(line, "wrong", wrong);
  read(line, "absent", absent);
  EXPECT_EQ(walltime.count(), 129600);
  EXPECT_EQ(wrong.count(), 2);
  EXPECT_EQ(absent.count(), 3);
  EXPECT_EQ(line.keys.faults,
            std::vector<std::string>{"--wrong: soon is not a duration, such as 90s, 90m, 2h or 1-12:00:00"});
}

}  // namespace
}  // namespace headlab::test
