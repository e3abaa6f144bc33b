// The generator against values of the fixtures' make_checkpoint.py.
#include "cli/parity/generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "converter/checkpoint/checkpoint.h"
#include "converter/error.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/parity/tiny_network.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

TEST(Generator, HashesNamesAsFnv1a64) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
}

TEST(Generator, MatchesTheReferenceToolBitForBit) {
  EXPECT_EQ(Stream("layer1.0.conv1.weight", 0).bits(0), 0xd768d2e717cb9a7fu);
  EXPECT_EQ(Stream("layer1.0.conv1.weight", 0).bits(123456789), 0x8b78cdbbe6049d2bu);
  EXPECT_EQ(Stream("layer1.0.conv1.weight", 1).bits(0), 0x2788336a0db5eb91u);
}

TEST(Generator, CenteredRowsSumToNearlyZero) {
  const std::vector<float> values = fill(FillKind::Centered, "w", 3, 0, 0.5, 4 * 27, 4);
  for (int row = 0; row < 4; ++row) {
    const auto begin = values.begin() + row * 27;
    EXPECT_NEAR(std::accumulate(begin, begin + 27, 0.0), 0, 27 * 0.5 * 6e-8) << "row " << row;
    EXPECT_GT(std::fabs(*begin), 0);
  }
}

TEST(Generator, SamplesLieInsideTheTensor) {
  const std::vector<int64_t> positions = sample_positions("tap/layer1", 2048, 1000);
  ASSERT_EQ(positions.size(), 2048u);
  for (int64_t p : positions) EXPECT_TRUE(p >= 0 && p < 1000) << p;
  EXPECT_NE(positions, sample_positions("tap/layer2", 2048, 1000));
}

// The whole file, byte for byte, as make_checkpoint.py writes it: uniform, abs and centered rules, three types.
TEST(MakeCheckpoint, MatchesTheReferenceToolByteForByte) {
  const ScratchFolder folder;
  const auto sha256_of = [&](std::optional<ElementType> cast) {
    const auto file = folder.path() / "checkpoint.safetensors";
    make_checkpoint(tiny_fixture() / "manifest.json", file, cast);
    return open_checkpoint(file)->sha256();
  };
  EXPECT_EQ(sha256_of(std::nullopt), "9a7bb0d448b9f1b2033ad87aa427e15bf39dbf5f5871c25c0f8143288e72baf3");
  EXPECT_EQ(sha256_of(ElementType::F16), "da7c67647962ef462cb5ffcdcd150538a1c096b9b5fac36bcaa12c30b164c537");
  EXPECT_EQ(sha256_of(ElementType::BF16), "2fa23cc2ea4c13105522bb47599053d14086f9022c71a56856c040fe52faaeb5");
}

TEST(MakeCheckpoint, FollowsCheckpointOf) {
  const ScratchFolder folder;
  const std::string rules = R"({"seed": 0, "tensors": [
    {"name": "n", "dtype": "I64", "shape": [], "kind": "const", "value": 3},
    {"name": "w", "dtype": "F32", "shape": [2, 3], "kind": "abs", "offset": 1.0, "scale": 0.5},
    {"name": "t", "kind": "tied", "to": "w", "dtype": "F32", "shape": [2, 3]}]})";
  folder.write("whole/manifest.json", rules);
  folder.write("gray/manifest.json", R"({"checkpoint_of": "whole"})");
  make_checkpoint(folder.path() / "gray/manifest.json", folder.path() / "a.safetensors");
  make_checkpoint(folder.path() / "whole/manifest.json", folder.path() / "b.safetensors");
  const auto a = open_checkpoint(folder.path() / "a.safetensors"), b = open_checkpoint(folder.path() / "b.safetensors");
  EXPECT_EQ(a->sha256(), b->sha256());
  ASSERT_EQ(a->tensors().size(), 2u);
  EXPECT_EQ(a->tensors().at("n").to_doubles(), std::vector<double>{3});
  for (float v : a->tensors().at("w").to_floats()) EXPECT_TRUE(v >= 1.0f && v <= 1.5f) << v;
}

TEST(MakeCheckpoint, RefusesUnknownRules) {
  const ScratchFolder folder;
  const auto message = [&](const std::string& tensor) -> std::string {
    folder.write("manifest.json", R"({"seed": 0, "tensors": [)" + tensor + "]}");
    try {
      make_checkpoint(folder.path() / "manifest.json", folder.path() / "out.safetensors");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message(R"({"name": "w", "dtype": "F32", "shape": [2], "kind": "normal", "offset": 0, "scale": 1})")
                .find("tensor w: a rule normal is not known"),
            std::string::npos);
  EXPECT_NE(message(R"({"name": "w", "dtype": "F32", "shape": [2], "kind": "data"})")
                .find("tensor w is not in consts.safetensors"),
            std::string::npos);
  EXPECT_NE(message(R"({"name": "w", "dtype": "F32", "kind": "abs"})").find("shape"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.safetensors"));
}

}  // namespace
}  // namespace ferry::parity
