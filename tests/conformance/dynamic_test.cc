// Open dimensions of a file stay open in the blob: at another size it computes what PyTorch does.
#include <gtest/gtest.h>

#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "onnx.pb.h"
#include "tests/conformance/node_case.h"
#include "tests/support/blobs.h"
#include "tests/support/paths.h"
#include "tests/support/run_blob.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

ConvertOptions options_for(const std::string& name, const std::vector<std::string>& open,
                           const std::vector<std::string>& shapes = {}) {
  ConvertOptions options;
  options.checkpoint = source_folder() / "tests" / "data" / "onnx" / name / "model.onnx";
  for (const std::string& dimension : open) options.settings.add("dynamic", dimension);
  for (const std::string& shape : shapes) options.settings.add("shape", shape);
  return options;
}

// Why the dimensions cannot stay open, or the Error's message; empty if they can.
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

// `other`: another folder with inputs and outputs of the same network.
void expect_agreement(const ConvertOptions& options, const std::string& other = "") {
  const std::unique_ptr<Graph> graph = convert_to_graph(options);
  constexpr Tolerance kTolerance{.relative = 0, .absolute = 1e-6, .of_largest = 1e-4};
  const std::filesystem::path folder = options.checkpoint.parent_path();
  EXPECT_EQ(compare_at_sizes(*graph, folder, kTolerance), "");
  if (other.empty()) return;
  EXPECT_EQ(compare_at_sizes(*graph, folder.parent_path() / other, kTolerance), "");
}

TEST(Dynamic, ATransformerTakesAnyBatch) {
  expect_agreement(options_for("vit_batch", {"batch"}), "vit");  // three samples, and one
  expect_agreement(options_for("decoder", {"batch"}, {"tokens=1x5x8"}));
  // The file transposes samples and tokens; the blob does not.
  const std::unique_ptr<Graph> graph = convert_to_graph(options_for("vit_batch", {"batch"}));
  for (const auto& op : graph->table.operators) EXPECT_FALSE(op->params.AsTranspose()) << op->name;
}

TEST(Dynamic, AConvolutionalNetworkTakesAnySize) {
  expect_agreement(options_for("segmenter", {"batch", "height", "width"}, {"input=1x3x16x16"}));
}

TEST(Dynamic, InputsThatMustAgreeChangeTogether) {
  expect_agreement(options_for("encoder", {"batch", "sequence"}, {"tokens=1x4x8", "mask=1x4"}));
}

TEST(Dynamic, MapsAreUpscaledToTheSizeOfOthers) {
  expect_agreement(options_for("pyramid", {"batch", "height", "width"}, {"input=1x3x32x32"}));
}

TEST(Dynamic, TokensBecomeMapsOfOpenSides) {
  expect_agreement(options_for("map_of_tokens", {"batch", "height", "width"}, {"input=1x3x16x16"}));
}

// Tables of positions and rotations and masks are cut to the length.
TEST(Dynamic, TextsAreOfAnyLength) {
  expect_agreement(options_for("positions", {"sequence"}, {"tokens=1x4x8"}));
  expect_agreement(options_for("text", {"batch", "sequence"}));
  expect_agreement(options_for("rotary_text", {"batch", "sequence"}, {"tokens=1x4x16"}));
  expect_agreement(options_for("text", {"batch", "sequence"}, {"tokens=1x12", "mask=1x12"}));  // as long as the table
  expect_agreement(options_for("padded", {"batch", "sequence"}, {"tokens=1x4x16", "mask=1x4"}));
  ConvertOptions plain = options_for("rotary_text", {"batch", "sequence"}, {"tokens=1x4x16"});
  plain.settings.add("no-recognise", "all");
  expect_agreement(plain);
}

// A sum over all previous positions is a product with a part of a matrix.
TEST(Dynamic, CumulativeSumsAreOfAnyLength) { expect_agreement(options_for("sums", {"sequence"}, {"tokens=1x4"})); }

// Sizes that are parts of an open one, rounded down, and what is left.
TEST(Dynamic, PartsOfAnOpenSize) {
  expect_agreement(options_for("halves", {"batch", "sequence"}, {"tokens=1x8x8"}));
  expect_agreement(options_for("half_size", {"height", "width"}, {"input=1x3x16x24"}));
}

// Also from sizes that need no padding.
TEST(Dynamic, PaddingReachesTheNextMultiple) {
  expect_agreement(options_for("multiples", {"height", "width"}, {"input=1x3x16x24"}));
  expect_agreement(options_for("multiples", {"height", "width"}, {"input=1x3x15x17"}));
}

// Positions that count from the end.
TEST(Dynamic, TheLastTokenIsReadAtAnyLength) {
  expect_agreement(options_for("last", {"batch", "sequence"}, {"tokens=1x4x8"}));
  expect_agreement(options_for("last", {"sequence"}, {"tokens=2x5x8"}));
}

// What is left between a first and a last token, and tokens at computed places.
TEST(Dynamic, TokensWithoutTheEnds) {
  expect_agreement(options_for("inner", {"sequence"}, {"tokens=2x8x8"}));
  expect_agreement(options_for("picked", {"batch", "sequence"}, {"tokens=1x8"}));
}

// Coordinates, masks and paddings that no constant holds for every size.
TEST(Dynamic, WhatFollowsFromSizesIsComputed) {
  expect_agreement(options_for("grid_rotary", {"batch", "height", "width"}, {"input=1x3x16x32"}));
  expect_agreement(options_for("windows", {"batch", "height", "width"}, {"input=1x3x16x32"}));
  expect_agreement(options_for("windows", {"height", "width"}, {"input=2x3x17x23"}));
  expect_agreement(options_for("centred", {"height", "width"}, {"input=1x3x16x32"}));
  expect_agreement(options_for("resampled", {"height", "width"}, {"input=1x3x16x32"}));
  expect_agreement(options_for("wrapped", {"height", "width"}, {"input=1x3x16x32"}));
  ConvertOptions plain = options_for("grid_rotary", {"batch", "height", "width"}, {"input=1x3x16x32"});
  plain.settings.add("no-recognise", "all");
  expect_agreement(plain);
}

// The number of samples is open, so they are no heads.
TEST(Dynamic, AttentionWithoutHeads) {
  expect_agreement(options_for("cells", {"batch", "height", "width"}, {"input=1x3x16x32"}));
  expect_agreement(options_for("cells", {"height", "width"}, {"input=2x3x24x16"}));
}

// A thousand steps, of a blob that was made for four.
TEST(Dynamic, RecurrentLayersRunAnyNumberOfSteps) {
  expect_agreement(options_for("recurrent", {"time"}, {"frames=4x2x5", "state=1x2x7"}));
}

// A table has as many positions as the network was made for.
TEST(Dynamic, ALengthBeyondTheTableIsRefused) {
  const std::unique_ptr<Graph> graph = convert_to_graph(options_for("positions", {"sequence"}, {"tokens=1x4x8"}));
  const std::vector<std::byte> packed = pack(*graph);
  AlignedBytes blob(packed);
  BlobTensors outputs;
  const auto run = [&](int64_t length) {
    const BlobTensor tokens{{1, length, 8}, std::vector<double>(static_cast<size_t>(length * 8), 0.5)};
    return run_blob(blob.data(), blob.size(), {{"tokens", tokens}}, &outputs);
  };
  EXPECT_EQ(run(16), "");
  EXPECT_NE(run(17).find("slice: elements 0 to 17 of dimension 0 are outside input [16,8]"), std::string::npos);
}

TEST(Dynamic, ADimensionMayBeGivenByItsIndex) {
  EXPECT_EQ(refusal(options_for("encoder", {"tokens:0"}, {"tokens=1x4x8", "mask=1x4"})), "");
}

TEST(Dynamic, DimensionsThatCannotStayOpenAreReported) {
  const std::string why = refusal(options_for("vit_batch", {"channels"}));
  EXPECT_NE(why.find("--dynamic channels: no dimension is called so; open in the file: batch"), std::string::npos)
      << why;
  const std::string fixed = refusal(options_for("vit_batch", {"input:2"}));
  EXPECT_NE(fixed.find("the file says that it is 16"), std::string::npos) << fixed;
  // An unbound dimension is not silently assumed to be 1.
  const std::string unbound = refusal(options_for("segmenter", {"batch"}));
  EXPECT_NE(unbound.find("dimension 2, height is open, too"), std::string::npos) << unbound;
}

// y = Concat(x, Resize(MaxPool(x))): maps are halved and doubled again, as in a U-Net, which accepts only even sides.
std::string small_u_net() {
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  auto* graph = model.mutable_graph();
  auto* input = graph->add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(1);
  type->mutable_shape()->add_dim()->set_dim_value(3);
  for (const char* name : {"height", "width"}) type->mutable_shape()->add_dim()->set_dim_param(name);
  auto* scales = graph->add_initializer();
  scales->set_name("scales");
  scales->set_data_type(::onnx::TensorProto::FLOAT);
  scales->add_dims(4);
  for (const float scale : {1.0f, 1.0f, 2.0f, 2.0f}) scales->add_float_data(scale);
  const auto add = [&](const char* op, const std::vector<const char*>& inputs, const char* output) {
    auto* node = graph->add_node();
    node->set_op_type(op);
    for (const char* name : inputs) node->add_input(name);
    node->add_output(output);
    return node;
  };
  auto* pool = add("MaxPool", {"x"}, "halved");
  for (const char* name : {"kernel_shape", "strides"}) {
    auto* sides = pool->add_attribute();
    sides->set_name(name);
    sides->set_type(::onnx::AttributeProto::INTS);
    for (int i = 0; i < 2; ++i) sides->add_ints(2);
  }
  add("Resize", {"halved", "", "scales"}, "doubled");
  auto* axis = add("Concat", {"x", "doubled"}, "y")->add_attribute();
  axis->set_name("axis");
  axis->set_type(::onnx::AttributeProto::INT);
  axis->set_i(1);
  graph->add_output()->set_name("y");
  return model.SerializeAsString();
}

TEST(Dynamic, ANetworkWithoutASizeOfOneNeedsAShape) {
  const ScratchFolder folder;
  ConvertOptions options;
  options.checkpoint = folder.write("u_net.onnx", small_u_net());
  const std::string neither = refusal(options);
  EXPECT_NE(neither.find("height is open: bind it with --shape x=1x3xHxW, or leave it open with --dynamic height"),
            std::string::npos)
      << neither;
  for (const char* name : {"height", "width"}) options.settings.add("dynamic", name);
  const std::string why = refusal(options);
  EXPECT_NE(why.find("with --shape, for example --shape x=1x3x256x256"), std::string::npos) << why;
  options.settings.add("shape", "x=1x3x32x32");
  EXPECT_EQ(refusal(options).find("--shape"), std::string::npos) << refusal(options);
}

}  // namespace
}  // namespace ferry::testing
