// train --save and --from: models that are kept, tested, trained on, converted, fine-tuned.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/log/trial_file.hpp"
#include "core/model/initialise.hpp"
#include "core/train/learner.hpp"
#include "experiments/model_file.hpp"
#include "tests/support/child.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

const std::string small =
    " --task.name multi_relation --task.length 6 --task.values 3 --task.relations 2 --model.dim 8 "
    "--model.heads 2 --init.std .3 --train.batch 8 --train.steps_per_epoch 5 --train.epochs 2 --lr 1e-2 "
    "--eval.sequences 16 --eval.test_sequences 40 ";

struct SavedModels : testing::Test {
  TemporaryFolder folder;

  Ended run(const std::string& command) const { return shell("$HEADLAB " + command, folder.path); }
  std::string output(const std::string& command) const {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0) << command << '\n' << ended.err;
    return ended.out;
  }
  std::string error(const std::string& command, int code) const {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, code) << command << '\n' << ended.out;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  }
  TrialRecord trial(const char* name) const { return read_trial(folder.path / name); }
  LoadedModel model(const char* name) const { return load_model(folder.path / name, all_keys()); }
  /// Of the first test sequences.
  std::vector<float> logits(const char* name) const {
    const LoadedModel m = model(name);
    Learner learner(m.resolved.config);
    restore(learner.parameters(), &Parameters::value, m.stored.parameters);
    return learner.logits(sequences(m.resolved.config, Purpose::test, 6, 50, 6));
  }
};

/// Root mean square of the difference over that of the first.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, all = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    difference += std::pow(double(a[k]) - double(b.at(k)), 2);
    all += double(a[k]) * double(a[k]);
  }
  return std::sqrt(difference / all);
}

TEST_F(SavedModels, TestToTheSameBits) {
  output("train" + small + "--out a.h5 --save m.safetensors");
  output("train --from m.safetensors --train.epochs 0 --out b.h5 --save n.safetensors");
  const TrialRecord a = trial("a.h5"), b = trial("b.h5");
  EXPECT_EQ(b.test_loss, a.test_loss);
  EXPECT_EQ(b.test_accuracy, a.test_accuracy);
  EXPECT_EQ(b.config.at("init.source"), hdf5::Value(digest(model("m.safetensors").stored.parameters)));
  EXPECT_NE(b.id, a.id);
  EXPECT_EQ(b.config.at("task.values"), a.config.at("task.values"));
  EXPECT_EQ(model("n.safetensors").stored.parameters, model("m.safetensors").stored.parameters);
  EXPECT_EQ(model("m.safetensors").stored.remarks.at("trial"), a.id);
}

TEST_F(SavedModels, AreTrainedOn) {
  output("train" + small + "--save m.safetensors");
  output("train --from m.safetensors --train.epochs 1 --train.steps_per_epoch 1 --out b.h5");
  const LoadedModel m = model("m.safetensors");
  Learner learner(m.resolved.config);
  restore(learner.parameters(), &Parameters::value, m.stored.parameters);
  const auto first = learner.differentiate(0, learner.batch(0), [] { return false; });
  EXPECT_EQ(trial("b.h5").train_loss.at(0), first->loss);
  output("train --from m.safetensors --train.epochs 8 --out c.h5 --save n.safetensors");
  EXPECT_LT(trial("c.h5").test_loss.at(0), trial("b.h5").test_loss.at(0));
  EXPECT_NE(trial("c.h5").id, trial("b.h5").id);
  // A model that was trained on is a source like any other.
  output("train --from n.safetensors --train.epochs 0 --out d.h5");
  EXPECT_EQ(trial("d.h5").test_loss, trial("c.h5").test_loss);
  EXPECT_NE(trial("d.h5").config.at("init.source"), trial("c.h5").config.at("init.source"));
}

TEST_F(SavedModels, AreKeptAtTheirEpochs) {
  output("train" + small + "--save m.safetensors --save-at 0,1");
  const LoadedModel start = model("m.0.safetensors");
  Learner learner(start.resolved.config);
  EXPECT_EQ(start.stored.parameters, tensors(learner.parameters(), &Parameters::value));
  output("train --from m.0.safetensors --train.epochs 2 --save again.safetensors");
  EXPECT_EQ(model("again.safetensors").stored.parameters, model("m.safetensors").stored.parameters);
  EXPECT_NE(model("m.1.safetensors").stored.parameters, model("m.safetensors").stored.parameters);
  EXPECT_NE(model("m.1.safetensors").stored.parameters, start.stored.parameters);
}

TEST_F(SavedModels, ConvertedAtTheirOwnWidthPredictTheSame) {
  for (const std::string architecture : {"mte", "bert", "nap"}) {
    output(fmt::format("train{}--model.architecture {} --save m.safetensors --force", small, architecture));
    const std::vector<float> want = logits("m.safetensors");
    for (const std::string how : {"--dim 8", "--dim 11", "--dim 8 --layers 1", "--dim 9 --layers 0"}) {
      output("reparametrize m.safetensors --out n.safetensors --force " + how);
      EXPECT_LE(distance(want, logits("n.safetensors")), 1e-5) << architecture << ' ' << how;
    }
    output("reparametrize n.safetensors --out o.safetensors --force --layers 1 --dim 8");
    EXPECT_LE(distance(want, logits("o.safetensors")), 1e-5) << architecture;
  }
}

TEST_F(SavedModels, ConvertedToFewerFeaturesLieBetweenFloorAndHeadSvd) {
  output("train" + small + "--save m.safetensors");
  for (const std::string dim : {"2", "4", "6"}) {
    const std::string command = "reparametrize m.safetensors --json --force --out n.safetensors --dim " + dim;
    const auto als = nlohmann::json::parse(output(command)).at("layers"),
               svd = nlohmann::json::parse(output(command + " --method head-svd")).at("layers");
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_GE(als[k].at("error").get<double>(), als[k].at("floor").get<double>() - 1e-8);
      EXPECT_LE(als[k].at("error"), svd[k].at("error"));
      EXPECT_GT(als[k].at("error"), .01);
    }
  }
}

TEST_F(SavedModels, ConvertedInSomeLayersAreFineTunedTestedAndConvertedAgain) {
  output("train" + small + "--save m.safetensors");
  output("reparametrize m.safetensors --out n.safetensors --layers 1 --dim 3");
  output("train --from n.safetensors --train.epochs 0 --out before.h5");
  output("train --from n.safetensors --train.epochs 8 --out after.h5 --save tuned.safetensors");
  EXPECT_LT(trial("after.h5").test_loss.at(0), trial("before.h5").test_loss.at(0));
  // layer 0: (8 + 1) 16, keys of 8; layer 1: (16 + 2) 3 + 16, keys of 3 and content biases of two heads
  EXPECT_EQ(trial("after.h5").facts.at("query_key_parameters"), hdf5::Value(std::int64_t{144 + 70}));
  EXPECT_EQ(trial("after.h5").facts.at("key_cache"), hdf5::Value(std::int64_t{8 + 5}));
  output("train --from tuned.safetensors --train.epochs 0 --out again.h5");
  EXPECT_EQ(trial("again.h5").test_loss, trial("after.h5").test_loss);
  const std::vector<float> want = logits("tuned.safetensors");
  output("reparametrize tuned.safetensors --out wider.safetensors --layers 1 --dim 5");
  EXPECT_LE(distance(want, logits("wider.safetensors")), 1e-6);
  output("reparametrize tuned.safetensors --out all.safetensors --dim 8");
  EXPECT_LE(distance(want, logits("all.safetensors")), 1e-5);
  EXPECT_EQ(output("spectrum tuned.safetensors --csv s.csv").find("kind "), 0U);
}

TEST_F(SavedModels, RefuseWhatDoesNotFit) {
  output("train" + small + "--save m.safetensors");
  EXPECT_EQ(error("train --from m.safetensors --model.heads 4", 2),
            "error: model.heads: 4 is not 2, as in m.safetensors\n");
  EXPECT_EQ(error("train --from m.safetensors --task.relations 3", 2),
            "error: readout.weight is 8 x 6, in the model 8 x 9\n");
  EXPECT_EQ(error("train --from none.safetensors", 2),
            "error: none.safetensors: not a file that can be read\n");
  EXPECT_EQ(error("train --init.source ab", 2),
            "error: init.source: ab is a model's, which only --from reads\n");
  EXPECT_EQ(error("train --init.source x", 2), "error: init.source: x is not hexadecimal digits\n");
  EXPECT_NE(error("train --from m.safetensors --init.source ab", 2).find("init.source: ab is not "),
            std::string::npos);
  EXPECT_EQ(error("train" + small + "--save-at 1", 2), "error: --save-at: wants --save\n");
  EXPECT_EQ(error("train" + small + "--save x.safetensors --save-at 1.5", 2),
            "error: --save-at: 1.5 is not an epoch\n");
  EXPECT_EQ(error("train" + small + "--save m.safetensors", 2),
            "error: --save: m.safetensors is there already; --force overwrites it\n");
  EXPECT_EQ(run("train --from m.safetensors --lr 1e30 --save d.safetensors").code, 0);
  EXPECT_FALSE(exists(folder.path / "d.safetensors")) << "diverged";
}

TEST_F(SavedModels, WhoseParametersAreNotTheirConfigurationsAreRefused) {
  output("train" + small + "--save m.safetensors");
  StoredModel m = read_model(folder.path / "m.safetensors");
  m.parameters.erase("layer.0.mix.bias");
  write_model(folder.path / "n.safetensors", m);
  EXPECT_EQ(error("train --from n.safetensors", 3),
            "error: n.safetensors: layer.0.mix.bias is not there, 1 x 8 in the model\n");
  m = read_model(folder.path / "m.safetensors");
  m.parameters["extra"] = {{1, 1}, {0}};
  write_model(folder.path / "n.safetensors", m);
  EXPECT_EQ(error("spectrum n.safetensors", 3),
            "error: n.safetensors: extra is there, but not in the model\n");
}

}  // namespace
}  // namespace headlab::test
