// A streaming speech denoiser agrees with PyTorch frame by frame, each run with the states that the one before returned
// (tests/conformance/make_denoiser.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converter/checkpoint/checkpoint.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "tests/support/blobs.h"
#include "tests/support/paths.h"
#include "tests/support/run_blob.h"

namespace ferry::testing {
namespace {

void expect_near(const std::string& name, const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  double largest = 0, distance = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::fabs(expected[i]));
    distance = std::max(distance, std::fabs(got[i] - expected[i]));
  }
  EXPECT_GT(largest, 0.05) << name;
  EXPECT_LE(distance, 1e-5 * largest) << name;
}

TEST(Denoiser, AgreesOverFramesWithItsStates) {
  const std::filesystem::path folder = source_folder() / "tests" / "data" / "onnx" / "denoiser";
  ConvertOptions options;
  options.checkpoint = folder / "model.onnx";
  AlignedBytes blob(pack(*convert_to_graph(options)));
  const auto reference = open_checkpoint(folder / "frames.safetensors");
  const auto tensor = [&](const std::string& name) { return reference->tensors().at(name); };

  BlobTensors inputs, outputs;
  const std::vector<std::string> states = {"conv_cache", "time_cache", "frame_cache"};
  for (const std::string& state : states)
    inputs[state] = {tensor(state).shape, std::vector<double>(tensor(state).to_doubles().size(), 0.0)};
  const std::vector<double> frames = tensor("frames").to_doubles(), enhanced = tensor("enhanced").to_doubles();
  const std::vector<int64_t> shape = {1, 33, 1, 2};
  constexpr size_t kSize = 66;
  const auto frame = [&](const std::vector<double>& all, size_t i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * kSize);
    return std::vector<double>(begin, begin + kSize);
  };
  for (size_t i = 0; i < frames.size() / kSize; ++i) {
    inputs["spectrum"] = {shape, frame(frames, i)};
    ASSERT_EQ(run_blob(blob.data(), blob.size(), inputs, &outputs), "");
    expect_near("frame " + std::to_string(i), outputs["enhanced"].values, frame(enhanced, i));
    for (const std::string& state : states) inputs[state] = outputs[state + "_out"];
  }
  for (const std::string& state : states) expect_near(state, inputs[state].values, tensor(state).to_doubles());
}

}  // namespace
}  // namespace ferry::testing
