// status, list and show over a folder with results.
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/plan_file.hpp"
#include "tests/support/child.hpp"
#include "tests/support/sweep.hpp"

namespace headlab::test {
namespace {

struct StoredCommands : testing::Test {
  TemporaryFolder folder;
  SweepPlan plan = plan_of(
      "title = 'A title'\n[base]\ntask.name = 'mode'\ntrain.epochs = 2\n"
      "[grid]\nmodel.dim = [4, 8]\ntrain.learning_rate = [0.1, 0.6]\nseed = [0, 1]");
  std::vector<std::string> ids = plan.ids();
  Store store{folder.path / "run"};

  StoredCommands() {
    for (const std::size_t i : {0, 1, 2, 3, 4}) store.add(sample_record(plan.trials[i]));
    Outcome failure;
    failure.message = "no memory";
    store.add(record_of(core_only(), plan.trials[5].config, failure));
    store.fold(plan, false);
    store.add(sample_record(plan_of("base.model.dim = 16").trials[0]));
    write_plan(core_only(), store.folder(), plan, "", "headlab sweep a.toml");
  }
  Ended run(const std::string& command) const { return shell("$HEADLAB " + command, folder.path); }
  nlohmann::json json(const std::string& command) const { return nlohmann::json::parse(run(command).out); }
};

TEST_F(StoredCommands, StatusCountsAllPlannedTrials) {
  const auto s = json("status run --json").at("status");
  EXPECT_EQ(s.at("title"), "A title");
  EXPECT_EQ(s.at("planned"), 8);
  EXPECT_EQ(s.at("done"), 3);
  EXPECT_EQ(s.at("diverged"), 2);
  EXPECT_EQ(s.at("failed"), 1);
  EXPECT_EQ(s.at("pending"), 2);
  EXPECT_EQ(s.at("others"), 1);
  EXPECT_EQ(s.at("pending_ids"), nlohmann::json({ids[6], ids[7]}));
  EXPECT_EQ(s.at("failures").at(0).at("message"), "no memory");
  const Ended plain = run("status run");
  EXPECT_EQ(plain.code, 0);
  for (const std::string& part :
       {std::string("a            A title\n"), std::string("\n  pending    2\n"), ids[5]})
    EXPECT_NE(plain.out.find(part), plain.out.npos) << part << plain.out;
}

TEST_F(StoredCommands, StatusOfAFolderWithoutAPlanCountsWhatIsThere) {
  std::filesystem::remove(folder.path / "run/plan.json");
  const auto s = json("status run --json").at("status");
  EXPECT_EQ(s.at("planned"), 7);
  EXPECT_EQ(s.at("pending"), 0);
  EXPECT_EQ(s.at("others"), 0);
}

TEST_F(StoredCommands, ListHasALineATrialWithThePlansAxes) {
  const auto header = [&] {
    const Ended all = run("list run");
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_EQ(std::ranges::count(all.out, '\n'), 8);
    std::istringstream line(all.out.substr(0, all.out.find('\n')));
    return std::vector<std::string>(std::istream_iterator<std::string>(line), {});
  };
  EXPECT_EQ(header(), (std::vector<std::string>{"id", "status", "model.dim", "train.learning_rate", "seed",
                                                "best_validation_accuracy", "test_accuracy", "seconds"}));
  std::filesystem::remove(folder.path / "run/plan.json");
  const auto without = header();  // the keys that vary
  EXPECT_EQ(std::ranges::count(without, "task.name"), 1);
  EXPECT_EQ(std::ranges::count(without, "model.dim"), 1);
  EXPECT_EQ(std::ranges::count(without, "model.heads"), 0);
}

TEST_F(StoredCommands, ListShowsWhatIsAskedFor) {
  EXPECT_EQ(run("list run --columns seed,lr,status,last_train_loss "
                "--where 'd_model = 4 and status != failed and lr > .05'")
                .out,
            "seed  train.learning_rate  status    last_train_loss\n"
            "0     0.1                  done      0.1667\n"
            "1     0.1                  done      0.1429\n"
            "0     0.6                  diverged  0.1667\n"
            "1     0.6                  diverged  0.1429\n");
  const auto trials =
      json("list run --json --columns id,model.dim,parameters --where 'status = failed'").at("trials");
  EXPECT_EQ(trials, (nlohmann::json{{{"id", ids[5]}, {"model.dim", 8}, {"parameters", nullptr}}}));
}

TEST_F(StoredCommands, ShowTellsAllOfATrial) {
  for (const std::string& id :
       {ids[2],
        json("list run --json --where 'model.dim = 16'").at("trials")[0].at("id").get<std::string>()}) {
    const Ended one = run("show run " + id);
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.out.find("trial " + id), 0U);
  }
  const std::string text = run("show run " + ids[2]).out;
  for (const char* part : {": diverged, loss is NaN at step 1\n", "\ntrain.learning_rate = 0.6\n", "\nepoch ",
                           "\n    2    0.1667", "\nparameters ", "\nresult_scheme"})
    EXPECT_NE(text.find(part), text.npos) << part << text;
  const auto t = json("show run --json " + ids[2]).at("trial");
  EXPECT_EQ(t.at("config").at("model.dim"), 4);
  EXPECT_EQ(t.at("step"), nlohmann::json({100, 200}));
}

TEST_F(StoredCommands, ShowTakesPrefixesOfOneTrialOnly) {
  std::size_t n = 1;  // as many letters as tell the first id from the others
  for (const std::string& id : ids)
    while (id != ids[0] && id.starts_with(ids[0].substr(0, n))) ++n;
  EXPECT_EQ(run("show run " + ids[0].substr(0, n + 2)).out.find("trial " + ids[0]), 0U);
  EXPECT_EQ(run("show run xyz").err, "error: xyz: no trial has such an id\n");
  EXPECT_EQ(run("show run ''").code, 2);
  std::map<char, std::vector<std::string>> by_first;  // of more ids than there are digits
  for (const PlannedTrial& t : plan_of("grid.seed = '0:17'").trials) {
    store.add(sample_record(t));
    by_first[t.id[0]].push_back(t.id);
  }
  const auto shared = std::ranges::find_if(by_first, [](const auto& g) { return g.second.size() > 1; });
  const Ended ended = run(fmt::format("show run {}", shared->first));
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("trials have ids that start so"), ended.err.npos) << ended.err;
}

TEST_F(StoredCommands, SayWhatIsDamagedAndExitWithThree) {
  const auto loose = store.trial_path(plan_of("base.model.dim = 16").trials[0].id);
  std::filesystem::resize_file(loose, 1000);
  for (const char* command : {"status run", "list run"}) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 3);
    EXPECT_EQ(ended.err.find("error: run/trials/"), 0U) << ended.err;
  }
  std::filesystem::resize_file(folder.path / "run/results.h5", 1000);
  for (const std::string& command :
       {std::string("status run"), std::string("list run"), "show run " + ids[0]}) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 3);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err.find("error: run/results.h5"), 0U) << ended.err;
  }
}

TEST_F(StoredCommands, ShowNamesTheDamageOfATrial) {
  const std::string id = plan_of("base.model.dim = 16").trials[0].id;
  std::filesystem::resize_file(store.trial_path(id), 1000);
  for (const std::string& asked : {id, id.substr(0, 12)}) {
    const Ended ended = run("show run " + asked);
    EXPECT_EQ(ended.code, 3);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err.find("error: run/trials/" + id.substr(0, 2) + "/" + id + ".h5: "), 0U) << ended.err;
    EXPECT_NE(ended.err.find("; move it away and run its sweep again"), ended.err.npos) << ended.err;
  }
  std::filesystem::create_directories(store.trial_path(ids[5]).parent_path());
  write_quickly(store.trial_path(ids[5]), "");  // results.h5 holds it too, as failed
  const Ended failed = run("show run " + ids[5]);
  EXPECT_EQ(failed.code, 3);
  EXPECT_NE(failed.err.find(ids[5] + ".h5: not an HDF5 file"), failed.err.npos) << failed.err;
  EXPECT_EQ(failed.out.find("trial " + ids[5] + ": failed, no memory"), 0U) << failed.out;
}

TEST_F(StoredCommands, APlanTellsItsBudgetThatOfTheWholeFileBeingPaper) {
  for (const auto& [given, told] : {std::pair("", "paper"), {"smoke", "smoke"}, {"paper", "paper"}}) {
    write_plan(core_only(), folder.path / "run", plan, given, "headlab sweep a.toml");
    const auto all = nlohmann::json::parse(read_bytes(folder.path / "run/plan.json"));
    EXPECT_EQ(all.at("budget"), told);
    EXPECT_EQ(all.at("trials").size(), plan.trials.size());
  }
}

TEST_F(StoredCommands, GoOnWithoutAPlanThatIsDamaged) {
  for (const char* text : {"", R"({"version": 1, "name)", R"({"name": 3, "title": 4})", "[]"})
    for (const char* command : {"status run", "list run"}) {
      write_quickly(folder.path / "run/plan.json", text);
      const Ended ended = run(command);
      EXPECT_EQ(ended.code, 3);
      EXPECT_EQ(ended.err,
                "error: run/plan.json: not a plan as headlab writes it; start the sweep again, which "
                "writes it anew\n");
      EXPECT_NE(ended.out, "");
    }
  std::filesystem::remove(folder.path / "run/plan.json");
  std::filesystem::create_directory(folder.path / "run/plan.json");
  const Ended ended = run("list run");
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err.find("error: run/plan.json: cannot read: Is a directory; "), 0U) << ended.err;
}

TEST_F(StoredCommands, RefuseWhatIsNotThere) {
  const std::pair<const char*, const char*> faults[]{
      {"list nowhere", "error: nowhere: not a folder with results\n"},
      {"list run --where 'model.dmi = 3'",
       "error: --where: character 1: model.dmi: not a column, the nearest is model.dim\n"},
      {"list run --where dim", "error: --where: character 1: dim: not a column, the nearest is model.dim\n"},
      {"list run --columns id,sed,dmi",
       "error: --columns: sed: not a column, the nearest is seed\n"
       "error: --columns: dmi: not a column, the nearest is model.dim\n"},
      {"list", "error: list: wants DIR, was given none\n"},
      {"show run", "error: show: wants DIR ID, was given run\n"},
      {"status run --where 1=1", "error: --where: not an option\n"}};
  for (const auto& [command, errors] : faults) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_EQ(ended.err, errors);
  }
}

}  // namespace
}  // namespace headlab::test
