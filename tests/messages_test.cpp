#include "sweeps/messages.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <system_error>

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

TEST_F(Messages, HoldFoldings) {
  const Folding folding{"/a/results.h5", {"/a/\xff.h5", "/b"}, "name = 'a'", {"ab", "cd"}, {{"ab", .5}}};
  EXPECT_TRUE(is_folding(encoded(folding)));
  EXPECT_FALSE(is_folding(encoded(Assignment{"ab", ""})));
  const Folding f = folding_in(encoded(folding));
  EXPECT_EQ(f.results, folding.results);
  EXPECT_EQ(f.files, folding.files);
  EXPECT_EQ(f.specification, folding.specification);
  EXPECT_EQ(f.plan, folding.plan);
  EXPECT_EQ(f.seconds_writing, folding.seconds_writing);
  const FoldReport r = fold_report_in(encoded(FoldReport{{{"/b"}, {"/a: damaged"}}, 28, "full"}));
  EXPECT_EQ(r.folded.safe, (std::vector<std::filesystem::path>{"/b"}));
  EXPECT_EQ(r.folded.damaged, (std::vector<std::string>{"/a: damaged"}));
  EXPECT_EQ(r.error, 28);
  EXPECT_EQ(r.fault, "full");
}

TEST_F(Messages, OfFaultsAreThrown) {
  EXPECT_NO_THROW(raise(0, ""));
  EXPECT_THROW(raise(0, "damaged"), DamagedError);
  try {
    raise(ENOSPC, "/x: cannot write");
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_EQ(std::string(e.what()), "/x: cannot write: No space left on device");
  }
}

TEST_F(Messages, ThatAreNoneAreRefused) {
  EXPECT_THROW(report_in("abc"), std::invalid_argument);
  EXPECT_THROW(report_in(encoded(Assignment{"ab", ""})), std::invalid_argument);
}

}  // namespace
}  // namespace headlab::test
