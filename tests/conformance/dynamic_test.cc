// Dimensions that a file leaves open and a blob, too: it computes what PyTorch does at a size that it was not made for.
#include <gtest/gtest.h>

#include "converter/convert.h"
#include "converter/onnx/importer.h"
#include "tests/conformance/node_case.h"

namespace ferry::testing {
namespace {

ConvertOptions options_for(const std::string& name, const std::vector<std::string>& open,
                           const std::vector<std::string>& shapes = {}) {
  ConvertOptions options;
  options.checkpoint = std::filesystem::path(FERRY_SOURCE_DIR) / "tests" / "data" / "onnx" / name / "model.onnx";
  options.dynamic = open;
  options.shapes = shapes;
  return options;
}

// The first reason why the dimensions cannot stay open, or what Error says; "" where they can.
std::string refusal(const ConvertOptions& options) {
  try {
    convert_to_graph(options);
  } catch (const onnx::Refused& refused) {
    return to_string(refused.reasons().front());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_agreement(const ConvertOptions& options) {
  const std::unique_ptr<Graph> graph = convert_to_graph(options);
  EXPECT_EQ(
      compare_at_sizes(*graph, options.checkpoint.parent_path(), {.relative = 0, .absolute = 1e-6, .of_largest = 1e-4}),
      "");
}

TEST(Dynamic, AConvolutionalNetworkTakesAnySize) {
  expect_agreement(options_for("segmenter", {"batch", "height", "width"}, {"input=1x3x16x16"}));
}

TEST(Dynamic, InputsThatMustAgreeChangeTogether) {
  expect_agreement(options_for("encoder", {"batch", "sequence"}, {"tokens=1x4x8", "mask=1x4"}));
}

TEST(Dynamic, ADimensionMayBeNamedByItsPlace) {
  EXPECT_EQ(refusal(options_for("encoder", {"tokens:0"}, {"tokens=1x4x8", "mask=1x4"})), "");
}

TEST(Dynamic, WhatCannotStayOpenIsSaid) {
  const std::string why = refusal(options_for("vit_batch", {"channels"}));
  EXPECT_NE(why.find("--dynamic channels: no dimension is called so; open in the file: batch"), std::string::npos)
      << why;
  const std::string fixed = refusal(options_for("vit_batch", {"input:2"}));
  EXPECT_NE(fixed.find("the file says that it is 16"), std::string::npos) << fixed;
  // torch's attention module takes samples and heads together.
  const std::string heads = refusal(options_for("vit_batch", {"batch"}));
  EXPECT_NE(heads.find("its parameters depend on an open size"), std::string::npos) << heads;
  // One is left out: it is not taken for 1 in silence.
  const std::string unbound = refusal(options_for("segmenter", {"batch"}));
  EXPECT_NE(unbound.find("dimension 2, height is open, too"), std::string::npos) << unbound;
  // A position for each token, and no rule for more.
  const std::string positions = refusal(options_for("positions", {"sequence"}, {"tokens=1x4x8"}));
  EXPECT_NE(positions.find("depends on an open size"), std::string::npos) << positions;
}

}  // namespace
}  // namespace ferry::testing
