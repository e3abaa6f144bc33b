// Detector heads as PyTorch exports them, in all layouts: the blob's boxes and scores are those that PyTorch decodes
// (make_detectors.py).
#include <gtest/gtest.h>

#include "models/families.h"
#include "tests/conformance/node_case.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

class ExportedDetector : public ::testing::TestWithParam<const char*> {};

TEST_P(ExportedDetector, MatchesTheFrameworksBoxes) {
  const std::filesystem::path folder = source_folder() / "tests" / "data" / "onnx" / GetParam();
  for (const bool passes : {true, false}) {
    ConvertOptions options;
    options.checkpoint = folder / "model.onnx";
    options.settings.set("detect", (folder / "detector.json").string());
    options.passes = passes;
    const std::unique_ptr<Graph> graph = convert_to_graph(options);
    ASSERT_EQ(graph->table.outputs.size(), 2u);
    EXPECT_EQ(graph->table.outputs[0]->name, "boxes");
    EXPECT_EQ(compare_at_sizes(*graph, folder, {.relative = 0, .absolute = 1e-6, .of_largest = 1e-5}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Torch, ExportedDetector,
                         ::testing::Values("detector_maps", "detector_channels_last", "detector_bins"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace ferry::testing
