// reparametrize and spectrum, on a small model of random weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/config/write.hpp"
#include "core/log/model_file.hpp"
#include "core/log/sealed_file.hpp"
#include "core/train/learner.hpp"
#include "experiments/configuration.hpp"
#include "tests/support/child.hpp"
#include "tests/support/configuration.hpp"

namespace headlab::test {
namespace {

struct ModelCommands : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path / "m.safetensors";

  ModelCommands() { keep({}); }
  void keep(const Pairs& more) const {
    const Config config = configuration(
        Pairs{{"task.name", "mode"}, {"task.length", "8"}, {"model.dim", "8"}, {"model.heads", "2"}} + more);
    Learner learner(config);
    write_model(path, {toml_text(all_keys(), {config, {}, {}}),
                       {{"mark", "x"}},
                       tensors(learner.parameters(), &Parameters::value)});
  }
  Ended run(const std::string& command) const { return shell("$HEADLAB " + command, folder.path); }
  std::string error(const std::string& command, int code) const {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, code);
    return ended.err;
  }
};

TEST_F(ModelCommands, ReparametrizeWritesAModelThatShares) {
  const Ended ended = run("reparametrize m.safetensors --dim 5 --layers 1 --out n.safetensors --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  const auto layers = nlohmann::json::parse(ended.out).at("layers");
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].at("layer"), 1);
  EXPECT_GT(layers[0].at("error"), layers[0].at("floor"));
  EXPECT_GT(layers[0].at("score_difference"), 0);
  const StoredModel model = read_model(folder.path / "n.safetensors");
  const Config config = resolve(all_keys(), {read_toml(model.configuration, "")}).config;
  EXPECT_EQ(config.model.query_key, QueryKey::collaborative);
  EXPECT_EQ(config.model.query_key_dim, 5);
  EXPECT_EQ(config.task.length, 8);
  const auto widths = layer_widths(model.parameters);
  EXPECT_FALSE(widths.at(0).collaborative);
  EXPECT_TRUE(widths.at(1).collaborative);
  EXPECT_EQ(widths.at(1).dim, 5U);
  EXPECT_EQ(model.remarks.at("mark"), "x");
  EXPECT_TRUE(
      model.remarks.at("reparametrize.command_line").starts_with("headlab reparametrize m.safetensors"));
}

TEST_F(ModelCommands, ReparametrizeTakesItsOptions) {
  const auto error_of = [&](const std::string& options) {
    const Ended ended =
        run("reparametrize m.safetensors --dim 3 --out n.safetensors --force --json " + options);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out).at("layers").at(0);
  };
  const auto usual = error_of("");
  EXPECT_GT(error_of("--method head-svd").at("error"), usual.at("error"));
  EXPECT_EQ(error_of("--method head-svd").at("sweeps"), 0);
  EXPECT_EQ(error_of("--compatible").at("sweeps"), 100);
  EXPECT_EQ(error_of("--sweeps 3").at("sweeps"), 3);
  EXPECT_NE(error_of("--compatible --seed 1").at("error"), error_of("--compatible").at("error"));
  EXPECT_LT(error_of("--tolerance .1").at("sweeps"), usual.at("sweeps"));
  EXPECT_NE(error_of("--whiten 4").at("error"), usual.at("error"));
  EXPECT_GT(error_of("--batch 64").at("score_difference"), error_of("--batch 1").at("score_difference"));
  EXPECT_EQ(error_of("").at("error"), usual.at("error"));
}

TEST_F(ModelCommands, RefuseWhatCannotBe) {
  const std::string wrong = error("reparametrize m.safetensors --dim 0 --layers 0,2 --method x", 2);
  EXPECT_NE(wrong.find("error: --dim: 0 is not in [1, "), wrong.npos) << wrong;
  EXPECT_NE(wrong.find("error: --out: must be given\n"), wrong.npos);
  EXPECT_NE(wrong.find("error: --layers: 2 is not a layer, 0 to 1\n"), wrong.npos);
  EXPECT_NE(wrong.find("error: --method: x is not one of als, head-svd\n"), wrong.npos);
  EXPECT_EQ(error("reparametrize m.safetensors --dim 2 --out m.safetensors", 2),
            "error: --out: m.safetensors is there already; --force overwrites it\n");
  EXPECT_EQ(error("spectrum m.safetensors --layers 1,1", 2), "error: --layers: 1 is there twice\n");
  keep({{"model.query_key", "multi_query"}});
  EXPECT_EQ(error("reparametrize m.safetensors --dim 2 --out o.safetensors", 2),
            "error: model.query_key: multi_query is not one of concatenated, collaborative\n");
  keep({{"model.architecture", "non"}});
  EXPECT_EQ(error("reparametrize m.safetensors --dim 3 --out o.safetensors", 2),
            "error: model.query_key: collaborative is not possible with model.architecture = non\n");
  keep({{"model.architecture", "sum"}});
  EXPECT_EQ(error("reparametrize m.safetensors --dim 3 --out o.safetensors", 2),
            "error: model.architecture: sum has no queries and keys\n");
  write_quickly(path, "short");
  EXPECT_EQ(error("spectrum m.safetensors", 3), "error: m.safetensors: truncated: 5 bytes\n");
  EXPECT_FALSE(exists(folder.path / "o.safetensors"));
}

TEST_F(ModelCommands, SpectrumWritesEnergiesBesideThoseOfRandomWeights) {
  const Ended ended = run("spectrum m.safetensors --csv s.csv --out s.h5 --draws 3");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with("kind ")) << ended.out;
  const std::string csv = read_bytes(folder.path / "s.csv");
  EXPECT_TRUE(csv.starts_with(
      "layer,kind,head,dimensions,share,energy,random_low,random_high\n0,head_query,0,1,0.25,"));
  const hdf5::File file = read_sealed(folder.path / "s.h5", {"headlab-spectrum", 1});
  // layers (heads x 3 kinds x 4 dimensions + 5 kinds of 8 + 2 heads)
  const std::size_t rows = 2 * (2 * 3 * 4 + 5 * 8 + 2);
  EXPECT_EQ(std::size_t(std::ranges::count(csv, '\n')), rows + 1);
  const auto& energy = std::get<std::vector<double>>(file.find("energy")->data);
  const auto& high = std::get<std::vector<double>>(file.find("random_high")->data);
  ASSERT_EQ(energy.size(), rows);
  EXPECT_GT(high[0], .25);
  EXPECT_NEAR(energy.back(), 1, 1e-12);
}

TEST_F(ModelCommands, SpectrumOfAModelWithoutQueriesIsRefused) {
  keep({{"model.architecture", "max"}});
  EXPECT_EQ(error("spectrum m.safetensors", 2), "error: layer.0.query.weight is not there\n");
}

}  // namespace
}  // namespace headlab::test
