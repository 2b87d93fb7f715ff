// The program as its users meet it: run as a process of its own.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/child.hpp"

namespace headlab::test {
namespace {

struct Commands : testing::Test {
  TemporaryFolder folder;

  Ended run(const std::string& command) const { return shell(command, folder.path); }
  bool untouched() const { return std::filesystem::is_empty(folder.path); }
};

TEST_F(Commands, HaveAMainPage) {
  for (const char* help : {"$HEADLAB --help", "$HEADLAB -h"}) {
    const Ended page = run(help);
    EXPECT_EQ(page.code, 0);
    EXPECT_NE(page.out.find("exit codes"), page.out.npos);
    EXPECT_EQ(page.err, "");
  }
  const Ended alone = run("$HEADLAB");
  EXPECT_EQ(alone.code, 2);
  EXPECT_EQ(alone.out, "");
  EXPECT_EQ(alone.err, run("$HEADLAB --help").out);
}

TEST_F(Commands, HaveAHelpTextEach) {
  const std::string page = run("$HEADLAB --help").out;
  int commands = 0;
  for (std::size_t at = page.find("\n  "), end = page.find("\n\n  --help"); at < end;
       at = page.find("\n  ", at + 1), ++commands) {
    const std::string name = page.substr(at + 3, page.find(' ', at + 3) - at - 3);
    const Ended help = run("$HEADLAB " + name + " --help --and-what-follows");
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out.find("usage: headlab " + name), 0U);
    EXPECT_NE(help.out.find("\nexample: headlab " + name), help.out.npos) << name;
  }
  EXPECT_GT(commands, 0);
}

TEST_F(Commands, TellTheirVersion) {
  const Ended version = run("$HEADLAB --version");
  EXPECT_EQ(version.code, 0);
  for (const char* part : {"headlab ", "\ncommit ", "\noneDNN ", "\nHDF5 ", "\ncompiler ", "\ninstructions "})
    EXPECT_NE(version.out.find(part), version.out.npos) << part;
}

TEST_F(Commands, PinOneDNNWhateverItsEnvironment) {
  const std::string usual = run("$HEADLAB --version").out;
  EXPECT_EQ(run("ONEDNN_MAX_CPU_ISA=SSE41 DNNL_MAX_CPU_ISA=SSE41 $HEADLAB --version").out, usual);
  const std::string v3 = run("HEADLAB_ISA=v3 $HEADLAB --version").out;
  EXPECT_NE(v3.find(", avx2\n"), v3.npos) << v3;
  EXPECT_NE(v3.find("x86-64-v3"), v3.npos) << v3;
}

TEST_F(Commands, WriteAnalyticExperimentsAsTheyPrintThem) {
  const Ended printed = run("$HEADLAB analytic xor"), written = run("$HEADLAB analytic xor --out xor.csv");
  EXPECT_EQ(printed.code, 0);
  EXPECT_NE(printed.out.find("\nsoftmax      fixed  0.1667 "), printed.out.npos) << printed.out;
  EXPECT_EQ(written.code, 0);
  EXPECT_EQ(written.out + written.err, "");
  EXPECT_EQ(run("head -1 xor.csv; sed -n 's/^max,none,[^,]*,0,[^,]*,0,//p' xor.csv").out,
            "aggregation,query,mean_squared_error,mean_squared_bound,largest_error,largest_bound,exact,"
            "output_00,output_01,output_10,output_11\n4,0,1,1,0\n");
  EXPECT_EQ(run("$HEADLAB analytic xor --out xor.csv").code, 2);
  const auto json = nlohmann::json::parse(run("$HEADLAB analytic output-cage --json").out);
  EXPECT_EQ(json["rows"][0]["kind"], "value");
  const std::string help = run("$HEADLAB analytic --help").out;
  EXPECT_NE(help.find("\nclosed_form of at-start is "), help.npos) << help;
}

struct Wrong {
  std::string command, errors;
};
struct WrongUsage : Commands, testing::WithParamInterface<Wrong> {};

TEST_P(WrongUsage, IsToldInLinesAndNothingIsRun) {
  const Ended ended = run(GetParam().command);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, GetParam().errors);
  EXPECT_TRUE(untouched());
}

INSTANTIATE_TEST_SUITE_P(
    Of, WrongUsage,
    testing::Values(
        Wrong{"$HEADLAB kyes", "error: kyes: not a command, the nearest is keys\n"},
        Wrong{"$HEADLAB keys --jsn", "error: --jsn: not an option, the nearest is --json\n"},
        Wrong{"$HEADLAB keys --model.dmi 3",
              "error: --model.dmi: not an option, the nearest is --model.dim\n"},
        Wrong{"$HEADLAB keys --prin", "error: --prin: not an option, the nearest is --print\n"},
        Wrong{"$HEADLAB keys --weight_decay 1",
              "error: weight_decay: not a key, see train.l2: times the squared "
              "weights, added to the loss\n"},
        Wrong{"$HEADLAB keys --model.dim 8.5", "error: model.dim: 8.5 is not an integer >= 1\n"},
        Wrong{"$HEADLAB keys --model.dim 100 --model.heads 3",
              "error: model.dim: 100 is not a multiple of model.heads = 3\n"},
        Wrong{"$HEADLAB keys --model.dim", "error: --model.dim: wants a value\n"},
        Wrong{"$HEADLAB keys --lr 1 --train.learning_rate 2",
              "error: train.learning_rate: given twice, again as 2\n"},
        Wrong{"$HEADLAB keys none.toml", "error: none.toml: not a file that can be read\n"},
        Wrong{"$HEADLAB keys a.toml b.toml",
              "error: a.toml: not a file that can be read\n"
              "error: keys: wants [FILE.toml] [--KEY VALUE]..., was given a.toml b.toml\n"},
        Wrong{
            "$HEADLAB keys --lr x --print=1 --modle.dim 3 --task.name sort --out",
            "error: --print: takes no value\nerror: --modle.dim: not an option, the nearest is --model.dim\n"
            "error: --out: not an option\n"
            "error: train.learning_rate: x is not a number > 0\n"
            "error: task.name: sort is not one of argmin_first_argmax, mode, local_global, multi_relation, "
            "file\n"},
        Wrong{"$HEADLAB analytic xro", "error: analytic: xro is none of at-start, xor, output-cage\n"},
        Wrong{"$HEADLAB analytic xor --out y.h5 --seed -1",
              "error: --seed: -1 is not >= 0\nerror: --out: y.h5 is not a name that ends in .csv\n"},
        Wrong{"HEADLAB_ISA=v9 $HEADLAB keys", "error: HEADLAB_ISA: v9 is not one of v3, v4\n"}));

TEST_F(Commands, NoteInertKeysAndGoOn) {
  const Ended ended = run("$HEADLAB keys --print --model.architecture sum --model.heads 2");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "note: model.heads: changes nothing in this configuration\n");
}

TEST_F(Commands, PrintAConfigurationThatReadsBack) {
  EXPECT_EQ(run("$HEADLAB keys --print --lr 3e6 --task.name mode > a.toml").code, 0);
  const std::string text = read_bytes(folder.path / "a.toml");
  const auto toml_end = text.find("\n\n");
  write_atomically(folder.path / "b.toml", text.substr(0, toml_end));
  const std::string again = run("$HEADLAB keys --print b.toml").out;
  EXPECT_EQ(again.substr(again.find("\n\n")), text.substr(toml_end));
}

TEST_F(Commands, EndQuietlyWhenNobodyReadsOn) {
  const Ended ended =
      run("$HEADLAB keys | head -n 0; echo ${PIPESTATUS[0]}; (sleep .1; $HEADLAB keys) | true");
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out, "0\n");
}

TEST_F(Commands, SayThatTheDiskIsFull) {
  const Ended ended = run("$HEADLAB keys > /dev/full");
  EXPECT_EQ(ended.code, 75);
  EXPECT_EQ(ended.err, "error: standard output: No space left on device\n");
}

struct Listings : Commands, testing::WithParamInterface<std::string> {};

TEST_P(Listings, AreALineEachOrJson) {
  const Ended plain = run("LC_ALL=C $HEADLAB " + GetParam());
  const auto all = nlohmann::json::parse(run("$HEADLAB " + GetParam() + " --json").out);
  EXPECT_EQ(all.at("version"), 1);
  EXPECT_EQ(all.at(GetParam()).size(), std::ranges::count(plain.out, '\n'));
  for (const auto& item : all.at(GetParam()))
    EXPECT_NE(plain.out.find(item.at("name").get<std::string>() + " "), plain.out.npos);
}

INSTANTIATE_TEST_SUITE_P(Of, Listings, testing::Values("models", "tasks", "keys"));

}  // namespace
}  // namespace headlab::test
