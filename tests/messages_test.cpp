#include "sweeps/messages.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cmath>

namespace headlab::test {
namespace {

struct Messages : testing::Test {
  std::array<int, 2> ends = [] {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    return pair;
  }();
  std::optional<Channel> supervisor{ends[0]}, worker{ends[1]};
};

TEST_F(Messages, ArriveAsTheyWereSent) {
  EXPECT_FALSE(worker->has_frame());
  const std::string odd("\0\xff\n", 3);
  for (const std::string& frame : {std::string("abc"), std::string(), odd, std::string(50'000, 'x')}) {
    EXPECT_TRUE(supervisor->send(frame));
    EXPECT_TRUE(worker->has_frame());
    EXPECT_EQ(worker->receive(), frame);
  }
}

TEST_F(Messages, EndWithTheOtherEnd) {
  supervisor->send("last");
  supervisor.reset();
  EXPECT_EQ(worker->receive(), "last");
  EXPECT_EQ(worker->receive(), std::nullopt);
  EXPECT_FALSE(worker->send("nobody"));
}

TEST_F(Messages, HoldAllThatTheySay) {
  const hdf5::Values provenance{{"dirty", true},
                                {"threads", std::int64_t{-7}},
                                {"share", .1},
                                {"whole", 2.},
                                {"command_line", std::string("not UTF-8: \xff")},
                                {"lengths", std::vector{1., .5}}};
  const Greeting g = greeting_in(encoded(Greeting{12, "/a/\xfe", provenance}));
  EXPECT_EQ(g.supervisor, 12);
  EXPECT_EQ(g.folder, "/a/\xfe");
  EXPECT_EQ(g.provenance, provenance);
  const Assignment a = assignment_in(encoded(Assignment{"ab", "seed = 1\n"}));
  EXPECT_EQ(a.id + a.configuration, "abseed = 1\n");
  const Report r = report_in(encoded(Report{"ab", Status::diverged, "at 3", std::nan(""), .25, 28, "/x"}));
  EXPECT_EQ(r.id + r.message + r.fault, "abat 3/x");
  EXPECT_EQ(r.status, Status::diverged);
  EXPECT_TRUE(std::isnan(r.seconds));
  EXPECT_EQ(r.seconds_writing, .25);
  EXPECT_EQ(r.error, 28);
}

TEST_F(Messages, ThatAreNoneAreRefused) {
  EXPECT_THROW(report_in("abc"), std::invalid_argument);
  EXPECT_THROW(report_in(encoded(Assignment{"ab", ""})), std::invalid_argument);
}

}  // namespace
}  // namespace headlab::test
