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
                      QuantisedNetwork{"classifier_u8u8", 9, 0, 1}, QuantisedNetwork{"classifier_u8u8_wide", 9, 0, 1},
                      QuantisedNetwork{"qlinear_u8u8_wide", 10, 0, 1}, QuantisedNetwork{"functions_s8", 11, 1, 1},
                      QuantisedNetwork{"functions_u8", 11, 1, 1}, QuantisedNetwork{"qlinear_u8s8", 10, 0, 1},
                      QuantisedNetwork{"qlinear_u8u8", 10, 0, 1}, QuantisedNetwork{"sparse_conversions", 3, 2, 1}),
    [](const auto& c) { return std::string(c.param.name); });

// ---- activations that a run rounds

class DynamicNetworks : public ::testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path folder_ = source_folder() / "tests" / "data" / "onnx" / "quantised" / GetParam();
};

// Every operator by itself, as ONNX defines it.
TEST_P(DynamicNetworks, AreWhatTheFileSays) {
  const Outcome outcome = run_case(folder_, {.relative = 0, .of_largest = 1e-5}, {"dynamic_quantization"});
  EXPECT_EQ(outcome.verdict, Verdict::Passed) << outcome.reason;
}

// Layers of 8-bit weights, which round each row by itself: the difference is that of two roundings to 8 bits.
TEST_P(DynamicNetworks, KeepTheirIntegersAndAgree) {
  ConvertOptions options;
  options.checkpoint = folder_ / "model.onnx";
  const std::unique_ptr<Graph> graph = convert_to_graph(families(), options);
  size_t weights = 0;
  for (const auto& op : graph->table.operators) {
    if (op->params.type != fbs::OpParams::Linear && op->params.type != fbs::OpParams::Conv2d) continue;
    const fbs::TensorT& weight = graph->at(op->inputs[1]);
    const bool places = weight.name.ends_with(".places");
    EXPECT_EQ(weight.dtype == fbs::DType::Int8, !places) << weight.name;
    weights += places ? 0 : 1;
  }
  EXPECT_GE(weights, 3u);
  EXPECT_EQ(compare_at_sizes(*graph, folder_, {.relative = 0, .of_largest = 0.02}), "");
}

INSTANTIATE_TEST_SUITE_P(, DynamicNetworks,
                         ::testing::Values("dynamic_patches_s8", "dynamic_patches_u8", "dynamic_tokens_s8",
                                           "dynamic_tokens_u8"),
                         [](const auto& c) { return std::string(c.param); });

}  // namespace
}  // namespace ferry::testing
