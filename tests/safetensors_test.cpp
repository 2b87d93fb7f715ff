#include "core/log/safetensors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "core/log/model_file.hpp"
#include "tests/support/record.hpp"

namespace headlab::test {
namespace {

using safetensors::File, safetensors::Tensor;

std::string with_length(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}
std::string one(const std::string& type, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}
std::string pair(const std::string& first, const std::string& second) {
  return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
         R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
}

class Safetensors : public testing::Test {
 protected:
  File read(const std::string& bytes) {
    write_quickly(path, bytes);
    return safetensors::read(path);
  }
  /// The message without the path; "" if the bytes are read.
  std::string fault(const std::string& bytes) try {
    read(bytes);
    return "";
  } catch (const DamagedError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(path.string() + ": "));
    return std::string(e.what()).substr(path.string().size() + 2);
  }
  template <class T>
  float real(const std::string& type, T element) {
    return reals(Tensor{type, {1}, {reinterpret_cast<const char*>(&element), sizeof element}}).elements.at(0);
  }
  float half(std::uint16_t bits) { return real("F16", bits); }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path / "m.safetensors";
};

TEST_F(Safetensors, IsReadAsTheFormatIsDefined) {
  const float x[]{1.5F, -2, 3};
  const std::string header = R"( {"__metadata__":{"k":"v"},"b":{"dtype":"F32","shape":[1,2],"data_offsets":)"
                             R"([0,8]},"a":{"dtype":"F32","shape":[],"data_offsets":[8,12]}}  )";
  const File file = read(with_length(header, {reinterpret_cast<const char*>(x), sizeof x}));
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(reals(file.tensors.at("b")), (Array<float>{{1, 2}, {1.5F, -2}}));
  EXPECT_EQ(reals(file.tensors.at("a")), (Array<float>{{}, {3}}));
  EXPECT_TRUE(read(with_length("{}")).tensors.empty());
}

TEST_F(Safetensors, ReturnsWhatIsWritten) {
  const File file{{{"text", "line\n\"quoted\" \u00e4"}},
                  {{"x", {"U8", {3}, "abc"}},
                   {"w", safetensors::stored({{2, 2}, {1, 2, 3, 4}})},
                   {"empty", {"F16", {0, 5}, ""}},
                   {"h", {"BF16", {1}, "xy"}}}};
  safetensors::write(path, file);
  EXPECT_EQ(safetensors::read(path), file);
  EXPECT_EQ(safetensors::read(path, [](std::string_view name) { return name == "x"; }).tensors.size(), 1U);
  const std::string bytes = read_bytes(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.substr(8 + length + 16), "xyabc");  // larger elements first
}

TEST_F(Safetensors, OfBytesThatDoNotFillTheirShapeAreNotWritten) {
  EXPECT_THROW(safetensors::write(path, {{}, {{"x", {"F32", {3}, "abcd"}}}}), std::logic_error);
  EXPECT_FALSE(exists(path));
}

TEST_F(Safetensors, AreRefusedIfTruncatedAnywhere) {
  safetensors::write(path, {{}, {{"x", safetensors::stored({{2, 2}, {1, 2, 3, 4}})}}});
  const std::string bytes = read_bytes(path);
  EXPECT_EQ(fault(bytes), "");
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_TRUE(fault(bytes.substr(0, n)).starts_with("truncated: ")) << n;
  EXPECT_EQ(fault(bytes + "x"), "1 bytes behind the last tensor");
}

TEST_F(Safetensors, AreRefusedForTheirHeader) {
  EXPECT_EQ(fault("\xff\xff\xff\xff\xff\xff\xff\xff{}"),
            "not safetensors, or damaged: a header of 18446744073709551615 bytes");
  EXPECT_EQ(fault(with_length("{}").replace(0, 1, "\x09")), "truncated: a header of 9 bytes in a file of 10");
  EXPECT_TRUE(fault(with_length("{\"a\":")).starts_with("its header is not JSON: "));
  EXPECT_TRUE(fault(with_length("{\"\xff\":1}")).starts_with("its header is not JSON: "));
  EXPECT_TRUE(fault(with_length("[1e999]")).starts_with("its header is not JSON: "));
  EXPECT_EQ(fault(with_length("[]")), "its header is not an object");
  EXPECT_EQ(fault(with_length(std::string(50'000, '['))), "its header is nested too deeply");
  EXPECT_EQ(fault(with_length(R"({"__metadata__":[]})")), "__metadata__ is not an object");
  EXPECT_EQ(fault(with_length(R"({"__metadata__":{"k":1}})")), "__metadata__: k is not a text");
}

TEST_F(Safetensors, AreRefusedForNamesGivenTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(fault(with_length(R"({"a":)" + entry + R"(,"a":)" + entry + "}")), "a is there twice");
  EXPECT_EQ(fault(with_length(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
            "dtype is there twice");
  EXPECT_EQ(fault(with_length(R"({"__metadata__":{"k":"1","k":"2"}})")), "k is there twice");
  EXPECT_EQ(fault(with_length(R"({"a":)" + entry + R"(,"b":)" + entry + "}")), "");
}

TEST_F(Safetensors, AreRefusedForTheirTensors) {
  const std::string data(8, '\0');
  EXPECT_EQ(fault(with_length(one("F31", "[2]", "[0,8]"), data)), "a: unknown type F31");
  EXPECT_EQ(fault(with_length(one("F32", "[3]", "[0,8]"), data)),
            "a: F32 [3] wants 12 bytes, data_offsets [0, 8] give 8");
  EXPECT_EQ(fault(with_length(one("F32", "[4294967296,4294967296]", "[0,8]"), data)),
            "a: shape [4294967296, 4294967296] is too large");
  for (const char* shape : {"[-2]", "[2.5]", "2", "[\"2\"]", "[18446744073709551616]"})
    EXPECT_EQ(fault(with_length(one("F32", shape, "[0,8]"), data)), "a: shape is not a list of counts");
  for (const char* offsets : {"[8,0]", "[0]", "[0,4,8]"})
    EXPECT_TRUE(fault(with_length(one("F32", "[2]", offsets), data)).ends_with("a beginning and an end"));
  EXPECT_EQ(fault(with_length(R"({"a":{"shape":[0],"data_offsets":[0,0]}})")), "a: has no dtype");
  EXPECT_EQ(fault(with_length(R"({"a":3})")), "a: has no dtype");
}

TEST_F(Safetensors, AreRefusedIfTensorsOverlapOrLeaveGaps) {
  EXPECT_EQ(fault(with_length(pair("[0,2]", "[2,4]"), "abcd")), "");
  EXPECT_EQ(fault(with_length(pair("[2,4]", "[0,2]"), "abcd")), "");
  EXPECT_EQ(fault(with_length(pair("[0,2]", "[1,3]"), "abcd")), "b: overlaps the tensor before it (1 < 2)");
  EXPECT_EQ(fault(with_length(pair("[0,2]", "[0,2]"), "ab")), "b: overlaps the tensor before it (0 < 2)");
  EXPECT_EQ(fault(with_length(pair("[0,2]", "[3,5]"), "abcde")),
            "b: 1 bytes between it and the tensor before it");
  EXPECT_EQ(fault(with_length(pair("[0,2]", "[2,4]"), "abc")),
            "truncated: 3 bytes of tensors, the header tells of 4");
}

TEST_F(Safetensors, TakesRealsOfEveryWidth) {
  EXPECT_EQ(real("F64", 0.1), 0.1F);
  EXPECT_EQ(half(0x3c00), 1);
  EXPECT_EQ(half(0xc500), -5);
  EXPECT_EQ(half(0x7bff), 65504);
  EXPECT_EQ(half(0x0001), 0x1p-24F);
  EXPECT_EQ(half(0x83ff), -1023 * 0x1p-24F);
  EXPECT_TRUE(std::signbit(half(0x8000)) && half(0x8000) == 0);
  EXPECT_EQ(half(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(half(0x7e01)));
  EXPECT_EQ(real("BF16", std::uint16_t{0xc049}), std::bit_cast<float>(0xc0490000U));
  EXPECT_THROW(real("I64", std::int64_t{1}), ConfigError);
}

/// By GCC's own conversion, bit by bit.
TEST_F(Safetensors, HalvesAreThoseOfTheCompiler) {
  for (unsigned bits = 0; bits < 1U << 16; ++bits) {
    const float expected = static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    const float is = half(static_cast<std::uint16_t>(bits));
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(is)
                                     : std::bit_cast<unsigned>(expected) == std::bit_cast<unsigned>(is))
        << bits;
  }
}

StoredModel model() {
  return {"model.dim = 2\n",
          {{"provenance.host", "here"}},
          {{"layer.0.query.weight", {{2, 3}, {1, 2, 3, 4, 5, 6}}},
           {"layer.0.mixing", {{2, 3}, {1, 0, 1, 0, 1, 0}}},
           {"layer.0.content_bias", {{2, 2}, {1, 2, 3, 4}}},
           {"layer.1.query.weight", {{2, 4}, std::vector<float>(8, 1)}},
           {"layer.1.query.bias", {{1, 4}, {1, 2, 3, 4}}},
           {"embedding.position", {{1, 2}, {7, 8}}}}};
}

TEST(ModelFile, ReturnsTheModel) {
  const TemporaryFolder folder;
  write_model(folder.path / "m", model());
  const StoredModel again = read_model(folder.path / "m");
  EXPECT_EQ(again.configuration, model().configuration);
  EXPECT_EQ(again.remarks, model().remarks);
  EXPECT_EQ(again.parameters, model().parameters);
}

TEST(ModelFile, IsLaidOutAsInPyTorch) {
  const TemporaryFolder folder;
  write_model(folder.path / "m", model());
  const File file = safetensors::read(folder.path / "m");
  const auto holds = [&](const char* name, const Array<float>& a) {
    return reals(file.tensors.at(name)) == a;
  };
  EXPECT_TRUE(holds("layer.0.query.weight", {{3, 2}, {1, 4, 2, 5, 3, 6}}));
  EXPECT_TRUE(holds("layer.0.content_bias", {{2, 2}, {1, 3, 2, 4}}));
  EXPECT_TRUE(holds("layer.0.mixing", {{2, 3}, {1, 0, 1, 0, 1, 0}}));
  EXPECT_TRUE(holds("layer.1.query.bias", {{4}, {1, 2, 3, 4}}));
  EXPECT_TRUE(holds("embedding.position", {{1, 2}, {7, 8}}));
  EXPECT_EQ(file.metadata.at("format"), "pt");
}

TEST(ModelFile, TellsWhichLayersShare) {
  const auto widths = layer_widths(model().parameters);
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_TRUE(widths.at(0).collaborative && !widths.at(1).collaborative);
  EXPECT_EQ(widths.at(0).dim, 3U);
  EXPECT_EQ(widths.at(1).dim, 4U);
}

TEST(ModelFile, RefusesOtherFiles) {
  const TemporaryFolder folder;
  const auto path = folder.path / "m";
  const auto fault = [&](const std::map<std::string, std::string>& metadata, const Tensor& tensor) {
    File file;
    write_model(path, model());
    file = safetensors::read(path);
    for (const auto& [key, value] : metadata) file.metadata[key] = value;
    file.tensors["x"] = tensor;
    safetensors::write(path, file);
    try {
      read_model(path);
    } catch (const DamagedError& e) {
      return std::string(e.what()).substr(path.string().size() + 2);
    }
    return std::string("none");
  };
  const Tensor sound = safetensors::stored({{1, 1}, {1}});
  EXPECT_EQ(fault({}, sound), "none");
  EXPECT_EQ(fault({{"headlab.format", "x"}}, sound), "not a model of headlab's: its headlab.format is x");
  EXPECT_EQ(fault({{"headlab.format_version", "2"}}, sound),
            "headlab-model of version 2; this headlab reads 1");
  EXPECT_EQ(fault({}, {"U8", {1, 1}, "x"}), "x: U8 is none of F64, F32, F16, BF16");
  EXPECT_EQ(fault({}, {"F32", {1}, "abcd"}), "x: 1 axes where a parameter has 2");
}

}  // namespace
}  // namespace headlab::test
