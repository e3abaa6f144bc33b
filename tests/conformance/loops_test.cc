// Loops of many steps, of a number that a run sets, and over an open length stay loops, and agree with PyTorch (and a
// Scan with NumPy: make_loops.py).
#include <gtest/gtest.h>

#include "models/families.h"
#include "tests/conformance/node_case.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

constexpr Tolerance kLoopTolerance{.relative = 0, .absolute = 1e-6, .of_largest = 1e-5};

std::filesystem::path loop_folder(const std::string& name) {
  return source_folder() / "tests" / "data" / "onnx" / "loops" / name;
}

class Loops : public ::testing::TestWithParam<const char*> {};

TEST_P(Loops, StayLoops) {
  Outcome outcome = run_case(loop_folder(GetParam()), kLoopTolerance);
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
  EXPECT_EQ(outcome.operators["LoopBegin"], 1u);
  EXPECT_EQ(outcome.operators["LoopEnd"], 1u);
}

INSTANTIATE_TEST_SUITE_P(All, Loops, ::testing::Values("stacked", "exchanged", "while", "counted", "scan"),
                         [](const auto& name) { return std::string(name.param); });

// Blobs that are made for a step or two.
TEST(LoopsOfOpenLength, AreComputedAtAnyOther) {
  const auto expect_agreement = [](const char* name, const std::vector<std::string>& open) {
    ConvertOptions options;
    options.checkpoint = loop_folder(name) / "model.onnx";
    for (const std::string& dimension : open) options.settings.add("dynamic", dimension);
    const std::unique_ptr<Graph> graph = convert_to_graph(options);
    EXPECT_EQ(compare_at_sizes(*graph, loop_folder(name), kLoopTolerance), "") << name;
  };
  expect_agreement("stacked", {"T", "N"});
  expect_agreement("exchanged", {"T", "N"});
  expect_agreement("scan", {"T"});
}

}  // namespace
}  // namespace ferry::testing
