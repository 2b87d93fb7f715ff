#include "experiments/console.hpp"

#include <gtest/gtest.h>

namespace headlab::test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

TEST(Table, HasColumnsAsWideAsTheyMustBe) {
  EXPECT_EQ(console::table({{"a", "bcd", "e f"}, {"ghi", "", "j"}, {"a title longer than columns"}}, 0),
            "a    bcd  e f\nghi       j\na title longer than columns\n");
}

TEST(Table, BreaksTheLastColumnToFit) {
  const Rows rows{{"ab", "the quick brown fox jumps over it"}};
  EXPECT_EQ(console::table(rows, 31), "ab  the quick brown fox jumps\n    over it\n");
  EXPECT_EQ(console::table(rows, 38), "ab  the quick brown fox jumps over it\n");
  EXPECT_EQ(console::table(rows, 20), "ab  the quick brown fox jumps over it\n");  // there is no room at all
  EXPECT_EQ(console::table({{"ab", "0123456789012345678901234567 x y"}}, 30),
            "ab  0123456789012345678901234567\n    x y\n");
}

}  // namespace
}  // namespace headlab::test
