// Which files are language models with a cache, and which are refused because other nodes read the cache or the mask.
#include "converter/onnx/decoder.h"

#include <gtest/gtest.h>

#include "converter/refused.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

onnx::Model decoder_model() {
  return onnx::read_model(source_folder() / "tests" / "data" / "onnx" / "language" / "rotary_outside" / "model.onnx");
}

void add_node(onnx::Model* model, const char* op, const std::string& input, const std::string& output) {
  onnx::Node& node = model->nodes.emplace_back();
  node.op = op;
  node.name = "added";
  node.inputs = {input};
  node.outputs = {output};
}

std::string refusal(const onnx::Model& model) {
  try {
    onnx::find_decoder(model);
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

TEST(Decoder, IsFoundByItsInputsAndOutputs) {
  const std::optional<onnx::Decoder> decoder = onnx::find_decoder(decoder_model());
  ASSERT_TRUE(decoder);
  EXPECT_EQ(decoder->caches.size(), 4u);
  EXPECT_EQ(decoder->caches.at("past_key_values.1.key").present, "present.1.key");
  EXPECT_EQ(decoder->caches.at("past_key_values.1.key").width, 16);
  EXPECT_EQ(decoder->rows, 48);
  EXPECT_EQ(decoder->logits, "logits");
}

TEST(Decoder, OfOtherInputsOrOutputsIsAnOrdinaryNetwork) {
  onnx::Model embedded = decoder_model(), two = decoder_model(), apart = decoder_model(), fixed = decoder_model();
  fixed.inputs.front().shape[1].size = 1;
  EXPECT_FALSE(onnx::find_decoder(fixed));
  embedded.inputs.front().name = "inputs_embeds";
  EXPECT_FALSE(onnx::find_decoder(embedded));
  two.outputs.push_back({.name = "hidden_states"});
  EXPECT_FALSE(onnx::find_decoder(two));
  apart.outputs.pop_back();  // a cache that is not returned
  EXPECT_FALSE(onnx::find_decoder(apart));
  EXPECT_FALSE(
      onnx::find_decoder(onnx::read_model(source_folder() / "tests" / "data" / "onnx" / "vit" / "model.onnx")));
}

// Without their sizes and contents at conversion, such nodes would compute something else.
TEST(Decoder, OtherReadersOfCacheAndMaskAreRefused) {
  onnx::Model cache = decoder_model();
  add_node(&cache, "Shape", "past_key_values.0.key", "length");
  EXPECT_NE(refusal(cache).find("it reads the cache 'past_key_values.0.key'"), std::string::npos) << refusal(cache);
  onnx::Model mask = decoder_model();
  add_node(&mask, "Cast", "attention_mask", "logits");
  EXPECT_NE(refusal(mask).find("output 'logits' follows from the mask"), std::string::npos) << refusal(mask);
  onnx::Model bias = decoder_model();
  for (onnx::Node& node : bias.nodes)
    if (node.op == "GroupQueryAttention") node.inputs.insert(node.inputs.end(), {"", "", "", "attention_mask"});
  EXPECT_NE(refusal(bias).find("its inputs follow from the mask"), std::string::npos) << refusal(bias);
  EXPECT_EQ(refusal(decoder_model()), "");
}

}  // namespace
}  // namespace ferry::testing
