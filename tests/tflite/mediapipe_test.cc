// MediaPipe's networks (scripts/fetch-npm), against samples of what TensorFlow Lite's interpreters compute of them
// (make_mediapipe.py): float16 and sparse weights, custom operators.
#include <gtest/gtest.h>

#include "converter/checkpoint/checkpoint.h"
#include "tests/support/cache.h"
#include "tests/support/paths.h"
#include "tests/tflite/file_builder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

struct Network {
  const char *file, *package;
};

class TfliteMediaPipe : public ::testing::TestWithParam<Network> {};

TEST_P(TfliteMediaPipe, ComputesWhatTheInterpreterDoes) {
  const auto folder = cached_dir(std::string("npm/") + GetParam().package);
  if (folder.empty()) GTEST_SKIP() << GetParam().package << " is not in the cache: run scripts/fetch-npm";
  const std::unique_ptr<Graph> graph =
      import_tflite(folder / (std::string(GetParam().file) + ".tflite"), "detect", "none");
  const fbs::PortT& input = *graph->table.inputs.at(0);
  const ferry::Shape shape = graph->shape(input.tensor);
  const std::vector<float> values = random_values(static_cast<size_t>(shape.elements()), 7);
  const BlobTensors outputs = run_graph(
      *graph, {{input.name, {{shape.dims.begin(), shape.dims.begin() + shape.rank}, {values.begin(), values.end()}}}});
  const auto expected = open_checkpoint(source_folder() / "tests" / "data" / "tflite" / "mediapipe.safetensors");
  size_t compared = 0;
  for (const auto& [key, tensor] : expected->tensors()) {
    const size_t slash = key.find('/');
    if (key.substr(0, slash) != GetParam().file) continue;
    ASSERT_TRUE(outputs.contains(key.substr(slash + 1))) << key;
    const std::vector<double>& all = outputs.at(key.substr(slash + 1)).values;
    const std::vector<double> samples = tensor.to_doubles();
    std::vector<double> seen;
    for (size_t k = 0; k < samples.size(); ++k) seen.push_back(all[k * all.size() / samples.size()]);
    EXPECT_LE(difference(seen, samples), 1e-4) << key;
    ++compared;
  }
  EXPECT_EQ(compared, outputs.size());
}

INSTANTIATE_TEST_SUITE_P(, TfliteMediaPipe,
                         ::testing::Values(Network{"face_detection_short_range", "face-detection-0.4.1657300184"},
                                           Network{"face_detection_full_range_sparse", "face-detection-0.4.1657300184"},
                                           Network{"face_landmark_with_attention", "face-mesh-0.4.1657299874"},
                                           Network{"hand_landmark_lite", "hands-0.4.1675469240"},
                                           Network{"pose_landmark_lite", "pose-0.5.1675469404"},
                                           Network{"selfie_segmentation", "selfie-segmentation-0.1.1675465747"}),
                         [](const auto& c) { return std::string(c.param.file); });

}  // namespace
}  // namespace ferry::testing
