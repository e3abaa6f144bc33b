// Fixtures that do not match the blob.
#include "cli/parity/network.h"

#include <gtest/gtest.h>

#include "converter/error.h"
#include "tests/parity/tiny_network.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

class NetworkTest : public ::testing::Test {
 protected:
  std::string message() {
    try {
      const Network network(blob_, fixture_, cli::session_options(1));
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }

  ScratchFolder folder_;
  std::filesystem::path blob_ = write_tiny_blob(folder_.path());
  Fixture fixture_ = read_fixture(tiny_fixture());
};

TEST_F(NetworkTest, ASingleInputMatchesAnyName) {
  fixture_.inputs[0].name = "pixel_values";
  EXPECT_EQ(message(), "no error");
}

TEST_F(NetworkTest, FollowsTheFixturesInputSize) {
  fixture_.inputs[0].shape = {1, 3, 20, 12};
  fixture_.inputs[0].values.resize(3 * 20 * 12);
  const Network network(blob_, fixture_, cli::session_options(1));
  EXPECT_EQ(network.tensors().at("block.0").shape, (Dims{1, 8, 10, 6}));
  EXPECT_EQ(network.tensors().at("block.0").read().size(), 8u * 10 * 6);
}

TEST_F(NetworkTest, RefusesOtherChannels) {
  fixture_.inputs[0].shape = {1, 4, 36, 44};
  fixture_.inputs[0].values.resize(4 * 36 * 44);
  EXPECT_NE(message().find("input \"input\" of shape 1x4x36x44: "), std::string::npos) << message();
}

TEST_F(NetworkTest, RefusesAnotherNumberOfInputs) {
  fixture_.inputs.push_back(fixture_.inputs[0]);
  EXPECT_NE(message().find("the blob has 1 inputs, fixture tiny has 2"), std::string::npos) << message();
}

TEST_F(NetworkTest, ReportsBlocksAndOrder) {
  const Network network(blob_, fixture_, cli::session_options(1));
  const ComputedTensors tensors = network.tensors();
  EXPECT_TRUE(tensors.at("block.0").block);
  EXPECT_FALSE(tensors.at("stem").block);
  EXPECT_LT(tensors.at("stem.conv").depth, tensors.at("stem").depth);
  EXPECT_LT(tensors.at("stem").depth, tensors.at("block.0").depth);
  EXPECT_LT(tensors.at("pooled").depth, tensors.at("logits").depth);
}

}  // namespace
}  // namespace ferry::parity
