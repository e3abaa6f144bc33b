// A fixture's prompts, under the names of either framework, become the inputs of the prompted graph.
#include "cli/parity/prompts.h"

#include <gtest/gtest.h>

#include "cli/parity/network.h"
#include "converter/error.h"
#include "converter/pack/pack.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/task_networks.h"

namespace ferry::parity {
namespace {

class Prompts : public ::testing::Test {
 protected:
  Prompts() {
    write_file(path_, pack(*ferry::testing::colour_masks()));
    model_ = open_blob(path_);
    fixture_.name = "small";
    fixture_.inputs.push_back({"pixel_values", {1, 3, 16, 16}, std::vector<float>(768, 0.5f)});
  }

  void add(const std::string& name, const Dims& shape, std::vector<float> values) {
    fixture_.inputs.push_back({name, shape, std::move(values)});
  }
  // An input of the prompted graph, for any image embedding.
  FixtureInput input(const std::string& name) const {
    const Computed embedding{{1, 3, 4, 4}, 0, false, [] { return std::vector<float>(48, 1.0f); }};
    const Fixture seen = by_graph(model_, fixture_, {{"image_embedding", embedding}}).at(1).fixture;
    for (const FixtureInput& one : seen.inputs)
      if (one.name == name) return one;
    return {};
  }
  std::string message() const {
    try {
      input("point_coords");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_.path() / "small.ferry";
  std::shared_ptr<Model> model_;
  Fixture fixture_;
};

TEST_F(Prompts, FirstGraphReadsOnlyTheImage) {
  add("input_boxes", {1, 1, 4}, {1, 2, 3, 4});
  const std::vector<FixtureInput> inputs = without_prompts(fixture_).inputs;
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "pixel_values");
}

TEST_F(Prompts, PointsWithoutABoxGetAPaddingPoint) {
  add("point_coords", {1, 2, 2}, {1, 2, 3, 4});
  add("point_labels", {1, 2}, {1, 0});
  EXPECT_EQ(input("point_coords").shape, (Dims{1, 3, 2}));
  EXPECT_EQ(input("point_coords").values, (std::vector<float>{1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(input("point_labels").shape, (Dims{1, 3}));
  EXPECT_EQ(input("point_labels").values, (std::vector<float>{1, 0, -1}));
  EXPECT_EQ(input("has_mask_input").values, std::vector<float>{0});
  EXPECT_EQ(input("mask_input").shape, (Dims{1, 1, 8, 8}));
  EXPECT_EQ(input("image_embedding").shape, (Dims{1, 3, 4, 4}));
}

TEST_F(Prompts, BoxBecomesTwoPointsAfterTheOthers) {
  add("input_boxes", {1, 1, 4}, {5, 6, 7, 8});
  EXPECT_EQ(input("point_coords").values, (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(input("point_labels").values, (std::vector<float>{2, 3}));
  add("input_points", {1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(input("point_coords").values, (std::vector<float>{1, 2, 5, 6, 7, 8}));
  EXPECT_EQ(input("point_labels").values, (std::vector<float>{1, 2, 3}));
}

TEST_F(Prompts, MaskSetsItsFlag) {
  add("input_masks", {1, 1, 8, 8}, std::vector<float>(64, 3.0f));
  EXPECT_EQ(input("mask_input").values, std::vector<float>(64, 3.0f));
  EXPECT_EQ(input("has_mask_input").values, std::vector<float>{1});
}

TEST_F(Prompts, RefusesPromptsThatDisagree) {
  add("input_boxes", {1, 2, 4}, std::vector<float>(8));
  EXPECT_EQ(message(), "input \"input_boxes\" of the fixture is 1x2x4, expected one group of prompts for one image");
  fixture_.inputs.back() = {"point_labels", {1, 1}, {1}};
  EXPECT_EQ(message(), "input \"point_labels\" of the fixture has 1 labels for 0 points");
  fixture_.inputs.back() = {"mask_input", {1, 1, 4, 8}, std::vector<float>(32)};
  EXPECT_EQ(message(), "input \"mask_input\" of the fixture is 1x1x4x8, expected a mask of 8x8");
}

TEST_F(Prompts, BothGraphsRunAndShareOneListOfTensors) {
  add("point_coords", {1, 3, 2}, {1, 2, 3, 4, 5, 6});
  const Network network(path_, fixture_, cli::session_options(1));
  const ComputedTensors tensors = network.tensors();
  EXPECT_EQ(tensors.at("image_embedding").shape, (Dims{1, 3, 4, 4}));
  EXPECT_EQ(tensors.at("mask_logits").shape, (Dims{1, 3, 8, 8}));
  EXPECT_EQ(tensors.at("mask_qualities").shape, (Dims{1, 3}));
  EXPECT_LT(tensors.at("image_embedding").depth, tensors.at("mask_qualities").depth);
}

}  // namespace
}  // namespace ferry::parity
