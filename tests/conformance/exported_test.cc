// Networks of PyTorch's exporter agree with PyTorch's results, and ordinary ones have no transpose left inside. For the
// small ones of make_exported.py, the recognised operators are counted, and without the recognisers the results agree
// too. Others are exported by export_torchvision.py and export_dinov3.py.
#include <gtest/gtest.h>

#include "tests/conformance/node_case.h"
#include "tests/support/cache.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;
using Counts = std::map<std::string, size_t>;

struct Exported {
  const char* name;
  Counts operators;  // expected operators of the blob
};

constexpr Tolerance kTolerance{.relative = 0, .absolute = 1e-6, .of_largest = 1e-4};

void expect_agreement(const fs::path& folder, const Exported& network) {
  Outcome outcome = run_case(folder, kTolerance);
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
  for (const auto& [op, count] : network.operators) EXPECT_EQ(outcome.operators[op], count) << op;
}

class ExportedNetwork : public ::testing::TestWithParam<Exported> {};

fs::path folder_of(const Exported& network) { return source_folder() / "tests" / "data" / "onnx" / network.name; }

TEST_P(ExportedNetwork, AgreesWithItsFramework) { expect_agreement(folder_of(GetParam()), GetParam()); }

TEST_P(ExportedNetwork, AgreesWithoutRecognisers) {
  const Outcome outcome = run_case(folder_of(GetParam()), kTolerance, {"all"});
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Torch, ExportedNetwork,
    ::testing::Values(
        Exported{"cnn", {{"Transpose", 0}}}, Exported{"convnext", {{"Transpose", 0}, {"LayerNorm", 5}}},
        Exported{"vit", {{"Transpose", 0}, {"Attention", 2}}}, Exported{"detector", {{"Transpose", 0}}},
        Exported{"swin",
                 {{"Transpose", 0}, {"Slice", 0}, {"Attention", 2}, {"WindowPartition", 2}, {"WindowReverse", 2}}},
        Exported{"quantized", {{"Cast", 0}, {"Conv2d", 1}, {"Linear", 1}}},
        Exported{"upscaler", {{"GroupNorm", 1}, {"PixelShuffle", 2}, {"Transpose", 0}}},
        Exported{"rotary", {{"RotaryEmbedding", 2}, {"Attention", 1}, {"LayerNorm", 1}, {"Transpose", 0}}},
        Exported{"rotary_pairs", {{"RotaryEmbedding", 2}, {"Attention", 1}, {"Transpose", 0}}},
        Exported{"rms", {{"LayerNorm", 4}, {"Reduce", 0}, {"Cast", 0}, {"Transpose", 0}}},
        Exported{"squeeze", {{"Linear", 1}}}, Exported{"lrn", {{"Transpose", 0}}}),
    [](const auto& network) { return std::string(network.param.name); });

class TorchvisionNetwork : public ::testing::TestWithParam<Exported> {};

TEST_P(TorchvisionNetwork, AgreesWithItsFramework) {
  const char* named = std::getenv("FERRY_TORCHVISION");
  const fs::path folder = (named ? fs::path(named) : cached_dir("torchvision")) / GetParam().name;
  if (!fs::exists(folder / "model.onnx"))
    GTEST_SKIP() << GetParam().name << " is not in the cache: run tests/conformance/export_torchvision.py";
  expect_agreement(folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Ten, TorchvisionNetwork,
    ::testing::Values(
        Exported{"resnet50", {{"Transpose", 0}}}, Exported{"mobilenet_v2", {{"Transpose", 0}}},
        Exported{"mobilenet_v3_small", {{"Transpose", 0}}}, Exported{"efficientnet_b0", {{"Transpose", 0}}},
        Exported{"convnext_tiny", {{"Transpose", 0}}},
        // One linear each for queries, keys, values and projection, two for the MLP; and the head.
        Exported{"vit_b_16", {{"Transpose", 0}, {"Attention", 12}, {"Linear", 6 * 12 + 1}}},
        Exported{"swin_t", {{"Transpose", 0}, {"WindowPartition", 12}, {"Attention", 12}, {"Linear", 6 * 12 + 3 + 1}}},
        Exported{"deeplabv3_mobilenet_v3_large", {{"Transpose", 0}}},
        Exported{"lraspp_mobilenet_v3_large", {{"Transpose", 0}}},
        Exported{"ssdlite320_mobilenet_v3_large", {{"Transpose", 0}}}),
    [](const auto& network) { return std::string(network.param.name); });

TEST(Dinov3, AgreesWithItsFixture) {
  const fs::path folder = cached_dir("dinov3") / "hf_dinov3_vits16";
  if (!fs::exists(folder)) GTEST_SKIP() << "the export is not in the cache: run tests/conformance/export_dinov3.py";
  expect_agreement(folder, {"dinov3", {{"Transpose", 0}, {"Attention", 12}, {"Linear", 6 * 12}}});
}

}  // namespace
}  // namespace ferry::testing
