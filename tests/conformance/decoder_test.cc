// Which files are language models with a cache, and which are refused: because other nodes read the cache or the mask,
// or because the attention is not causal.
#include "converter/onnx/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "converter/onnx/cached_attention.h"
#include "converter/refused.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

onnx::Model read(const std::string& name) {
  return onnx::read_model(source_folder() / "tests" / "data" / "onnx" / "language" / name / "model.onnx");
}

onnx::Model decoder_model() { return read("rotary_outside"); }

void add_node(onnx::Model* model, const char* op, const std::string& input, const std::string& output) {
  onnx::Node& node = model->nodes.emplace_back();
  node.op = op;
  node.opset = model->opset;
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
  fixed.inputs.front().shape[1].size = 2;
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

// The attentions of a file without GroupQueryAttention.
std::vector<onnx::Node> attentions(const onnx::CachedModel& cached) {
  std::vector<onnx::Node> found;
  for (const onnx::Node& node : cached.model.nodes)
    if (node.op == "CachedAttention") found.push_back(node);
  return found;
}

std::string cached_refusal(const onnx::Model& model) {
  try {
    onnx::with_cached_attention(model, 512);
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

TEST(CachedAttention, HasTheScaleTheWindowAndTheLengthThatTheFileComputesWith) {
  const auto mistral = onnx::with_cached_attention(read("mistral"), 512);
  ASSERT_TRUE(mistral);
  ASSERT_EQ(attentions(*mistral).size(), 2u);
  for (const onnx::Node& node : attentions(*mistral)) {
    EXPECT_EQ(node.attributes.at("window").ints, std::vector<int64_t>{7});
    EXPECT_NEAR(node.attributes.at("scale").floats.front(), 1 / std::sqrt(8.0), 1e-5);
  }
  EXPECT_EQ(mistral->rows, 0);
  const auto gpt2 = onnx::with_cached_attention(read("gpt2"), 512);
  ASSERT_TRUE(gpt2);
  EXPECT_EQ(attentions(*gpt2).front().attributes.at("window").ints, std::vector<int64_t>{0});
  EXPECT_EQ(gpt2->rows, 64);
  EXPECT_FALSE(onnx::with_cached_attention(decoder_model(), 512));
}

TEST(CachedAttention, OtherMasksAreRefused) {
  EXPECT_EQ(cached_refusal(read("llama")), "");
  EXPECT_NE(cached_refusal(read("bloom")).find("are not those of causal attention"), std::string::npos);
  onnx::Model backwards = read("llama");
  for (onnx::Node& node : backwards.nodes)
    if (node.op == "Greater") node.op = "Less";
  EXPECT_NE(cached_refusal(backwards).find("are not those of causal attention"), std::string::npos);
}

// tanh(scores / 50) * 50, as Gemma 2 has it: nearly the scores where these are small.
TEST(CachedAttention, CappedScoresAreRefused) {
  onnx::Model model = read("llama");
  model.constants["cap"] = onnx::make_array(onnx::Type::Float32, {}, std::vector<double>{50});
  const auto softmax =
      std::find_if(model.nodes.begin(), model.nodes.end(), [](const auto& n) { return n.op == "Softmax"; });
  const auto masked = std::find_if(model.nodes.begin(), model.nodes.end(),
                                   [&](const auto& n) { return n.outputs.front() == softmax->inputs.front(); });
  ASSERT_EQ(masked->op, "Add");
  onnx::Model added;
  added.opset = model.opset;
  add_node(&added, "Div", masked->inputs[0], "divided");
  add_node(&added, "Tanh", "divided", "tanh");
  add_node(&added, "Mul", "tanh", "capped");
  for (const size_t i : {0, 2}) added.nodes[i].inputs.push_back("cap");
  masked->inputs[0] = "capped";
  model.nodes.insert(masked, added.nodes.begin(), added.nodes.end());
  EXPECT_NE(cached_refusal(model).find("are not those of causal attention"), std::string::npos);
}

TEST(CachedAttention, OfALanguageModelHasRotaryEmbeddings) {
  const auto graph = onnx::build_decoder(read("llama"), {.file = "", .max_length = 64});
  ASSERT_TRUE(graph);
  std::map<std::string, size_t> operators;
  for (const auto& op : graph->table.operators) ++operators[fbs::EnumNameOpParams(op->params.type)];
  EXPECT_EQ(operators["RotaryEmbedding"], 4u);
  EXPECT_EQ(operators["Attention"], 2u);
  EXPECT_EQ(operators["Concat"], 1u);  // the frequencies of both halves
}

// A blob would compute it for the first run only.
TEST(CachedAttention, OtherReadersOfThePastsLengthAreRefused) {
  onnx::Model model = read("llama");
  for (onnx::Node& node : model.nodes)
    for (std::string& output : node.outputs)
      if (output == "logits") output = "computed";
  add_node(&model, "Shape", "past_key_values.0.key", "shape");
  add_node(&model, "Cast", "shape", "sizes");
  model.nodes.back().attributes["to"] = {.kind = onnx::Attribute::Kind::Int, .ints = {1}};
  add_node(&model, "ReduceSum", "sizes", "length");
  add_node(&model, "Add", "computed", "logits");
  model.nodes.back().inputs.push_back("length");
  EXPECT_NE(
      cached_refusal(model).find("it reads 'length', which follows from the mask or the number of earlier tokens"),
      std::string::npos)
      << cached_refusal(model);
}

}  // namespace
}  // namespace ferry::testing
