// Small networks written by PyTorch's exporter (make_exported.py), with what PyTorch computed: they agree, and an ordinary
// one has no transpose left inside.
#include <gtest/gtest.h>

#include "tests/conformance/node_case.h"

namespace ferry::testing {
namespace {

struct Exported {
  const char* name;
  size_t transposes;  // that may be left in the blob
};

class ExportedNetwork : public ::testing::TestWithParam<Exported> {};

TEST_P(ExportedNetwork, AgreesWithItsFramework) {
  const auto folder = std::filesystem::path(FERRY_SOURCE_DIR) / "tests" / "data" / "onnx" / GetParam().name;
  const Outcome outcome = run_case(folder, {.relative = 0, .absolute = 1e-6, .of_largest = 1e-4});
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
  EXPECT_LE(outcome.transposes, GetParam().transposes);
}

INSTANTIATE_TEST_SUITE_P(Torch, ExportedNetwork,
                         ::testing::Values(Exported{"cnn", 0}, Exported{"convnext", 0}, Exported{"vit", 0},
                                           Exported{"swin", 8}, Exported{"detector", 0}),
                         [](const auto& network) { return std::string(network.param.name); });

}  // namespace
}  // namespace ferry::testing
