// The ONNX project's whole networks without weights: every node imports, and the outputs have the expected shapes.
#include <gtest/gtest.h>

#include "converter/onnx/importer.h"
#include "converter/onnx/tensor_proto.h"
#include "tests/shared.h"

namespace ferry::onnx {
namespace {

namespace fs = std::filesystem;

class LightNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(LightNetwork, ImportsWithTheExpectedShapes) {
  if (shared_dir().empty()) GTEST_SKIP() << "../shared is not here";
  const fs::path folder = shared_dir() / "onnx-light";
  const std::string name = std::string("light_") + GetParam();
  const Imported imported = import_model(read_model(folder / (name + ".onnx")), {});
  const Array expected = read_tensor_file(folder / (name + "_output_0.pb"));
  ASSERT_EQ(imported.graph->table.outputs.size(), 1u);
  const Shape shape = imported.graph->shape(imported.graph->table.outputs[0]->tensor);
  Dims dims(shape.dims.begin(), shape.dims.begin() + shape.rank);
  if (shape.rank == 4) dims = {dims[0], dims[3], dims[1], dims[2]};  // outputs of four dimensions are channels-last
  EXPECT_EQ(dims, expected.dims);
}

INSTANTIATE_TEST_SUITE_P(Nine, LightNetwork,
                         ::testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                           "shufflenet", "squeezenet", "vgg19", "zfnet512"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace ferry::onnx
