// Quantised networks are computed on integers, and give what ONNX Runtime gives up to a few roundings
// (make_quantised.py).
#include <gtest/gtest.h>

#include "converter/convert.h"
#include "models/families.h"
#include "tests/conformance/node_case.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

constexpr double kStep = 4.0 / 255;  // the scale of most outputs

struct QuantisedNetwork {
  const char* name;
  size_t integers, floats;  // operators besides conversions
  double steps;             // the largest difference
};

class QuantisedNetworks : public ::testing::TestWithParam<QuantisedNetwork> {};

TEST_P(QuantisedNetworks, AgreeWithOnnxRuntime) {
  const auto folder = source_folder() / "tests" / "data" / "onnx" / "quantised" / GetParam().name;
  const Outcome outcome = run_case(folder, {.relative = 0, .absolute = 1.01 * GetParam().steps * kStep});
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
}

TEST_P(QuantisedNetworks, ComputeOnIntegers) {
  ConvertOptions options;
  options.checkpoint = source_folder() / "tests" / "data" / "onnx" / "quantised" / GetParam().name / "model.onnx";
  const std::unique_ptr<Graph> graph = convert_to_graph(families(), options);
  size_t integers = 0, floats = 0;
  for (const auto& op : graph->table.operators) {
    if (op->params.type == fbs::OpParams::Requantize) continue;
    ++(graph->at(op->inputs.front()).dtype == fbs::DType::Int8 ? integers : floats);
  }
  EXPECT_EQ(integers, GetParam().integers);
  EXPECT_EQ(floats, GetParam().floats);
}

INSTANTIATE_TEST_SUITE_P(
    , QuantisedNetworks,
    ::testing::Values(QuantisedNetwork{"classifier_u8s8", 9, 0, 1}, QuantisedNetwork{"classifier_s8s8", 9, 0, 1},
                      QuantisedNetwork{"classifier_u8u8", 9, 0, 1}, QuantisedNetwork{"functions_s8", 11, 1, 1},
                      QuantisedNetwork{"functions_u8", 11, 1, 1}, QuantisedNetwork{"qlinear_u8s8", 10, 0, 1},
                      QuantisedNetwork{"qlinear_u8u8", 10, 0, 1}, QuantisedNetwork{"sparse_conversions", 3, 2, 1}),
    [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace ferry::testing
