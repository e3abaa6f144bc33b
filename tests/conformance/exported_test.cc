// Small networks written by PyTorch's exporter (make_exported.py), with what PyTorch computed: they agree, and an ordinary
// one has no transpose left inside. What is recognised in them is counted, and without the recognisers they agree as well.
#include <gtest/gtest.h>

#include "tests/conformance/node_case.h"

namespace ferry::testing {
namespace {

using Counts = std::map<std::string, size_t>;

struct Exported {
  const char* name;
  Counts operators;  // that the blob has so many of
};

class ExportedNetwork : public ::testing::TestWithParam<Exported> {};

constexpr Tolerance kTolerance{.relative = 0, .absolute = 1e-6, .of_largest = 1e-4};

std::filesystem::path folder_of(const Exported& network) {
  return std::filesystem::path(FERRY_SOURCE_DIR) / "tests" / "data" / "onnx" / network.name;
}

TEST_P(ExportedNetwork, AgreesWithItsFramework) {
  Outcome outcome = run_case(folder_of(GetParam()), kTolerance);
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
  for (const auto& [op, count] : GetParam().operators) EXPECT_EQ(outcome.operators[op], count) << op;
}

TEST_P(ExportedNetwork, AgreesWithoutRecognisers) {
  const Outcome outcome = run_case(folder_of(GetParam()), kTolerance, {"all"});
  EXPECT_NE(outcome.verdict, Verdict::Wrong) << outcome.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Torch, ExportedNetwork,
    ::testing::Values(Exported{"cnn", {{"Transpose", 0}}}, Exported{"convnext", {{"Transpose", 0}, {"LayerNorm", 5}}},
                      Exported{"vit", {{"Transpose", 0}, {"Attention", 2}}}, Exported{"detector", {{"Transpose", 0}}},
                      Exported{"swin",
                               {{"Transpose", 0}, {"Attention", 2}, {"WindowPartition", 2}, {"WindowReverse", 2}}},
                      Exported{"upscaler", {{"GroupNorm", 1}, {"PixelShuffle", 2}, {"Transpose", 0}}},
                      Exported{"rotary", {{"RotaryEmbedding", 2}, {"Attention", 1}, {"Transpose", 0}}},
                      Exported{"rotary_pairs", {{"RotaryEmbedding", 2}, {"Attention", 1}, {"Transpose", 0}}}),
    [](const auto& network) { return std::string(network.param.name); });

}  // namespace
}  // namespace ferry::testing
