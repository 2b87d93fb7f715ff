// What goes wrong around a sweep's folder and its specification, as a user sees it.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/sweep.hpp"
#include "tests/support/tiny_sweep.hpp"

namespace headlab::test {
namespace {

struct Hardships : testing::Test {
  TemporaryFolder folder;

  Hardships() { write_specification("name = \"try\"\n"); }
  void write_specification(const std::string& head) const {
    std::ofstream(folder.path / "a.toml")
        << tiny_specification("train.steps_per_epoch = 2\ntrain.epochs = 1\n", "seed = [0, 1]\n", head);
  }
  Ended run(const std::string& command) const { return shell(command, folder.path); }
  Ended sweep(const std::string& options = "") const {
    return run(fmt::format("$HEADLAB sweep a.toml --out run -j 1 {}", options));
  }
};

TEST_F(Hardships, EmptyTruncatedAndForeignFilesInTheFolderAreNamedAndTheRestRuns) {
  ASSERT_EQ(sweep("--seed 0 --keep-trial-files").code, 0);
  const std::string sound = read_bytes(folder.path / "run/results.h5");
  const auto trials = folder.path / "run/trials/00";
  std::filesystem::create_directories(trials);
  write_quickly(trials / "0000000000000001.h5", "");
  write_quickly(trials / "0000000000000002.h5", std::string_view(sound).substr(0, sound.size() / 2));
  write_quickly(trials / "0000000000000003.h5", "no HDF5 file at all, though its name says so");
  write_quickly(trials / "notes.txt", "of no interest");
  const Ended ended = sweep();
  EXPECT_EQ(ended.code, 3);
  for (const char* line : {"1.h5: not an HDF5 file (0 bytes); move it away", "2.h5: has no seal: truncated",
                           "3.h5: not an HDF5 file (44 bytes); move it away"})
    EXPECT_NE(ended.err.find(std::string("error: run/trials/00/000000000000000") + line), ended.err.npos)
        << line << "\n"
        << ended.err;
  EXPECT_EQ(ended.err.find("notes.txt"), ended.err.npos);
  EXPECT_EQ(Store(folder.path / "run").trials().size(), 2U) << "what is sound is there";
  EXPECT_EQ(read_bytes(trials / "0000000000000001.h5"), "") << "left alone";
}

TEST_F(Hardships, AReaderThatHoldsResultsOpenReadsOnWhatItOpened) {
  ASSERT_EQ(sweep("--seed 0").code, 0);
  const std::string before = read_bytes(folder.path / "run/results.h5");
  std::ofstream(folder.path / "reader.py") << R"(
import h5py, os, time
file = h5py.File('run/results.h5')
open('opened', 'w')
while not os.path.exists('folded'): time.sleep(.01)
print([len(f['id'][...]) for f in (file, h5py.File('run/results.h5'))], file['seed'][...])
)";
  const Ended ended = run(
      "/usr/bin/python3 reader.py & r=$!; until [ -e opened ]; do kill -0 $r || exit 99; sleep .02; done; "
      "$HEADLAB sweep a.toml --out run -j 1 >said; c=$?; touch folded; wait $r && exit $c");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "[1, 2] [0]\n")
      << "rows of what it opened and of what is there now; the former's seed";
  EXPECT_NE(read_bytes(folder.path / "run/results.h5"), before);
  EXPECT_EQ(Store(folder.path / "run").trials().size(), 2U);
}

TEST_F(Hardships, NothingThatGoesToAFileMovesTheCursor) {
  const Ended ended = run("$HEADLAB sweep a.toml --out run -j 1 --seed 0:20 >out 2>err");
  EXPECT_EQ(ended.code, 0);
  for (const char* name : {"out", "err"}) {
    const std::string text = read_bytes(folder.path / name);
    EXPECT_EQ(text.find_first_of("\r\x1b"), text.npos) << name;
    EXPECT_LE(std::ranges::count(text, '\n'), 5) << text;
  }
}

TEST_F(Hardships, FoldersAndTitlesMayHaveAnyLetters) {
  write_specification("name = \"try\"\ntitle = \"Größe γ, 注意 [x] {y} / = \\\"q\\\"\"\n");
  const std::string odd = "a,b [c] {d} = \"e\" γ";
  const Ended ended = run("$HEADLAB sweep a.toml -j 1 --out '" + odd + "'");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Ended status = run("$HEADLAB status '" + odd + "'");
  EXPECT_NE(status.out.find("Größe γ, 注意 [x] {y} / = \"q\"\n"), status.out.npos) << status.out;
  EXPECT_EQ(Store(folder.path / odd).trials().size(), 2U);
}

TEST_F(Hardships, ATitleCommandsNoTerminal) {
  write_specification("name = \"try\"\ntitle = \"\\u0007 \\u001b[31mred\"\n");
  ASSERT_EQ(sweep().code, 0);
  const std::string out = run("$HEADLAB status run").out;
  EXPECT_EQ(out.find('\x1b'), out.npos) << out;
  EXPECT_NE(out.find("[31mred"), out.npos) << out;
}

/// Nothing is opened in the place of a closed stream, nor ends because nobody can be told.
TEST_F(Hardships, WhatCannotBeToldStopsNothing) {
  for (const std::string closed : {"2>&-", "2>/dev/full", "<&- 2>&-"}) {
    EXPECT_EQ(run("$HEADLAB status nowhere " + closed).code, 2) << closed;
    EXPECT_EQ(run("$HEADLAB sweep a.toml --out run --model.archtecture nap " + closed).code, 2) << closed;
    std::filesystem::remove_all(folder.path / "run");
    EXPECT_EQ(sweep("--model.query_key_dim 2 " + closed).code, 0) << closed;
    const Store store(folder.path / "run");
    EXPECT_EQ(store.damaged(), std::vector<std::string>{});
    EXPECT_EQ(store.trials().size(), 2U);
  }
}

TEST_F(Hardships, ArgumentsThatAreNoUtf8AreToldSo) {
  const Ended value = run("$HEADLAB sweep a.toml --out run --task.name $'m\\xff\\xfe'");
  EXPECT_EQ(value.code, 2);
  EXPECT_EQ(value.err.find_first_of("\xff\xfe"), value.err.npos) << "escaped";
  const Ended folded = run("$HEADLAB sweep a.toml -j 1 --out $'r\\xff'");
  EXPECT_EQ(folded.code, 0) << folded.err;
  EXPECT_EQ(run("$HEADLAB status $'r\\xff' --json | python3 -m json.tool >/dev/null").code, 0);
}

TEST_F(Hardships, ASpecificationMayBeLargerThanAnHdf5AttributeInAHeader) {
  constexpr int lines = 2000;
  std::string head = "name = \"try\"\n";
  for (int i = 0; i < lines; ++i) head += "# a remark that makes the file longer than 64 KiB\n";
  write_specification(head);
  ASSERT_GT(std::filesystem::file_size(folder.path / "a.toml"), 1U << 16);
  const Ended ended = sweep();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(read_results(folder.path / "run/results.h5").specification, read_bytes(folder.path / "a.toml"));
}

TEST_F(Hardships, AFullDiskEndsTheSweepInALineAndItGoesOnOnceThereIsSpace) {
  const std::string in_namespace = "unshare --map-root-user --mount bash -c ";
  if (run(in_namespace + "'mkdir small && mount -t tmpfs -o size=200k none small'").code != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here";
  const Ended ended =
      run(in_namespace +
          "'mount -t tmpfs -o size=200k none small; S=\"$HEADLAB sweep a.toml --out small/run -j 1\"; "
          "$S --seed 0 || exit 10; dd if=/dev/zero of=small/fill bs=1k 2>/dev/null; "
          "$S; echo code $?; rm small/fill; $S --seed 0,1 || exit 11; $HEADLAB status small/run'");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("code 75\n"), ended.out.npos) << ended.out << ended.err;
  EXPECT_NE(ended.err.find("KiB free"), ended.err.npos) << ended.err;
  EXPECT_NE(ended.out.find("\n  done       2\n"), ended.out.npos) << ended.out;
}

TEST_F(Hardships, FewOpenFilesAreEnough) {
  const Ended ended = run("ulimit -n 256; $HEADLAB sweep a.toml --out run -j 2 --seed 0:300");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Store(folder.path / "run").trials().size(), 300U);
}

}  // namespace
}  // namespace headlab::test
