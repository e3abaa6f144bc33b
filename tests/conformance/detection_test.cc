// torchvision's detectors as PyTorch exports them, with their post-processing: the same boxes, masks and keypoints as
// PyTorch's, as many as it finds, and none in an image without any (make_detection.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "converter/onnx/importer.h"
#include "converter/onnx/patterns/patterns.h"
#include "models/families.h"
#include "tests/conformance/node_case.h"
#include "tests/support/gpus.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

std::filesystem::path folder_of(const std::string& name) {
  return source_folder() / "tests" / "data" / "onnx" / "detection" / name;
}

class Detection : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ConvertOptions options;
    options.checkpoint = folder_of(GetParam()) / "model.onnx";
    graph_ = convert_to_graph(options);
  }

  void expect_agreement(const std::string& gpu) {
    const Tolerance tolerance{.relative = 0, .absolute = 1e-6, .of_largest = 1e-5};
    for (const int image : {0, 1})
      EXPECT_EQ(compare_at_sizes(*graph_, folder_of(GetParam()), tolerance, image, gpu), "") << "image " << image;
  }

  std::unique_ptr<Graph> graph_;
};

TEST_P(Detection, FindsWhatPyTorchFinds) { expect_agreement(""); }

TEST_P(Detection, FindsTheSameOnTheGpu) {
  const std::vector<std::string> gpus = test_gpus();
  if (gpus.empty()) GTEST_SKIP() << "no Vulkan driver";
  expect_agreement(gpus.front());
}

INSTANTIATE_TEST_SUITE_P(Torch, Detection,
                         ::testing::Values("fasterrcnn", "fcos", "keypointrcnn", "maskrcnn", "retinanet", "ssd"),
                         [](const auto& name) { return std::string(name.param); });

class LoopOverBoxes : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

bool is_recognised(const onnx::Model& model, const std::string& name) {
  const std::vector<onnx::Node> nodes = onnx::apply_patterns(model, {});
  return std::any_of(nodes.begin(), nodes.end(), [&](const onnx::Node& n) { return n.op == name; });
}

// A constant, an attribute or an operator of the body changes what it computes.
TEST_P(LoopOverBoxes, IsRecognisedOnlyIfEveryNodeIsAsExpected) {
  using Kind = onnx::Attribute::Kind;
  onnx::Model model = onnx::read_model(folder_of(GetParam().first) / "model.onnx");
  ASSERT_TRUE(is_recognised(model, GetParam().second));
  const auto loop = std::find_if(model.nodes.begin(), model.nodes.end(), [](const auto& n) { return n.op == "Loop"; });
  ASSERT_NE(loop, model.nodes.end());
  for (onnx::Node& node : loop->branches.front().nodes) {
    const onnx::Node before = node;
    for (auto& attribute : node.attributes) {
      onnx::Attribute& changed = attribute.second;
      if (changed.kind == Kind::Tensor && changed.tensor.elements() == 0) continue;
      if (changed.kind == Kind::Tensor)
        changed.tensor = onnx::make_array(changed.tensor.type, changed.tensor.dims, std::vector<double>{7});
      for (int64_t& value : changed.ints) ++value;
      for (double& value : changed.floats) ++value;
      for (std::string& value : changed.strings) value += "_";
      EXPECT_FALSE(is_recognised(model, GetParam().second))
          << before.op << " " << before.outputs[0] << " " << attribute.first;
      attribute.second = before.attributes.at(attribute.first);
    }
    if (node.op == "Constant") continue;
    node.op = node.op == "Sub" ? "Add" : "Sub";
    EXPECT_FALSE(is_recognised(model, GetParam().second)) << before.op << " " << before.outputs[0];
    node.op = before.op;
  }
}

// The maximum size of resized heatmaps is that of the image to which boxes are clipped.
TEST(Heatmaps, NeedBoxesOfABoundedSize) {
  onnx::Model model = onnx::read_model(folder_of("keypointrcnn") / "model.onnx");
  for (onnx::Node& node : model.nodes)
    if (node.op == "Min") node.op = "Max";
  try {
    onnx::import_model(model, {});
    FAIL() << "it is imported";
  } catch (const onnx::Refused& refused) {
    EXPECT_NE(std::string(refused.what()).find("expected boxes that are clipped to the image"), std::string::npos)
        << refused.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Torch, LoopOverBoxes,
                         ::testing::Values(std::pair{"maskrcnn", "PasteMasks"},
                                           std::pair{"keypointrcnn", "KeypointsOfHeatmaps"}),
                         [](const auto& loop) { return std::string(loop.param.first); });

}  // namespace
}  // namespace ferry::testing
