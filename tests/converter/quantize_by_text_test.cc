// 4-bit weights of a language model, rounded by a text.
#include "converter/quantize/quantize_by_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converter/graph/ops.h"
#include "converter/quantize/quantize.h"
#include "tests/converter/pass_network.h"
#include "tests/support/blobs.h"
#include "tests/support/language_model.h"

namespace ferry::by_text {
namespace {

constexpr int kVocabulary = 96, kWidth = 64, kHidden = 160;

Tensor multiply(Tensor x, Tensor weight) { return x.graph->add_op("linear", fbs::LinearT{}, {x, weight}); }

// One layer of attention and one MLP. The table has a low rank, so that a layer's inputs are correlated.
void build(Graph& graph) {
  const auto matrix = [&](const char* name, int rows, int columns, double seed) {
    std::vector<double> values = noise(rows * columns, seed);
    for (double& v : values) v *= 0.2;
    return graph.add_constant(name, {rows, columns}, std::move(values));
  };
  const Tensor ids = graph.add_input("input_ids", {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
  graph.table.inputs.back()->bound = {1, 32};
  std::vector<double> table(kVocabulary * kWidth);
  for (size_t i = 0; i < table.size(); ++i) {
    const auto row = static_cast<double>(i / kWidth), column = static_cast<double>(i % kWidth);
    table[i] = std::sin(row) + std::cos(0.7 * row) * std::sin(0.3 * column) + 0.2 * std::sin(1.7 * row * column);
  }
  const Tensor embedding = graph.add_constant("embedding", {kVocabulary, kWidth}, std::move(table));
  Tensor x = graph.add_op("embedding", fbs::GatherT{}, {embedding, ids});
  const auto cached = [&](const char* name, double seed) {
    return append(multiply(x, matrix(name, kWidth, kWidth, seed)),
                  graph.add_state(name, {1, 64, kWidth}, 1, fbs::DType::Float32));
  };
  const Tensor q = multiply(x, matrix("q", kWidth, kWidth, 1));
  const Tensor mixed = attention(q, cached("k", 2), cached("v", 3), {.heads = 2, .kv_heads = 2, .causal = true});
  x = x + multiply(mixed, matrix("o", kWidth, kWidth, 4));
  x = x + multiply(gelu_tanh(multiply(x, matrix("up", kHidden, kWidth, 5))), matrix("down", kWidth, kHidden, 6));
  graph.add_output("logits", multiply(x, matrix("head", kVocabulary, kWidth, 7)), fbs::Layout::Same);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::Text;
}

TextSamples pseudorandom() {
  TextSamples out;
  uint32_t state = 1;
  for (int s = 0; s < 24; ++s) {
    std::vector<int32_t>& ids = (s % 8 == 7 ? out.held_out : out.calibrate).emplace_back();
    for (int i = 0; i < 32; ++i) {
      state = state * 1664525u + 1013904223u;
      ids.push_back(static_cast<int32_t>((state >> 8) % kVocabulary));
    }
  }
  return out;
}

std::vector<std::byte> bytes_of(const Graph& graph) {
  std::vector<std::byte> all;
  for (const auto& tensor : graph.table.tensors) {
    if (tensor->buffer == 0) continue;
    const Constant constant = graph.buffer(tensor->buffer).read();
    all.insert(all.end(), constant.bytes.begin(), constant.bytes.end());
  }
  return all;
}

TEST(QuantizeByText, ReducesTheErrorOfTheLogitsForAnyThreads) {
  Graph one, two, nearest;
  for (Graph* graph : {&one, &two, &nearest}) build(*graph);
  ASSERT_TRUE(predicts_tokens(one));
  std::vector<double> progress;
  const TextCalibration done =
      quantize_by_text(one, pseudorandom(), 1, [&](double share) { progress.push_back(share); });
  quantize_by_text(two, pseudorandom(), 2, [](double) {});
  quantize_weights(nearest, WeightBits::Four);

  EXPECT_EQ(done.weights, 6u) << "q, k, v, o, up, down; the head has 8 bits";
  EXPECT_EQ(done.kept_nearest, 0u);
  EXPECT_EQ(done.tokens, 21u * 32);
  EXPECT_EQ(done.held_out, 3u * 31);
  EXPECT_EQ(done.in_float.error, 0);
  EXPECT_GT(done.nearest.error, 0.005);
  EXPECT_LT(done.calibrated.error, 0.8 * done.nearest.error);
  EXPECT_GT(done.in_float.perplexity, 1);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(bytes_of(one), bytes_of(two));

  // Other integers with the same scales.
  ASSERT_EQ(one.table.tensors.size(), nearest.table.tensors.size());
  size_t differ = 0;
  for (size_t i = 0; i < one.table.tensors.size(); ++i) {
    const fbs::TensorT& tensor = *one.table.tensors[i];
    EXPECT_EQ(tensor.dtype, nearest.table.tensors[i]->dtype) << tensor.name;
    if (tensor.buffer == 0) continue;
    const Constant a = one.buffer(tensor.buffer).read(), b = nearest.buffer(tensor.buffer).read();
    const bool equal = std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
    EXPECT_TRUE(equal || tensor.dtype == fbs::DType::Int4) << tensor.name;
    differ += equal ? 0 : 1;
  }
  EXPECT_EQ(differ, 6u);
}

TEST(QuantizeByText, IsForLanguageModels) {
  EXPECT_TRUE(predicts_tokens(*testing::small_language_model()));
  EXPECT_FALSE(predicts_tokens(*testing::small_vision_language_model())) << "it has other inputs";
  EXPECT_FALSE(predicts_tokens(*testing::small_classifier()));
}

// The message of the error; "" if there is none.
std::string refusal(std::span<const uint8_t> text, std::string_view contents) {
  try {
    text_samples(text, contents, 16, "texts.txt");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TextSamples, HoldOutOneSequenceOfEight) {
  const std::vector<uint8_t> text = testing::small_language_model()->table.text;
  std::string contents;
  for (int i = 0; i < 2000; ++i) contents += static_cast<char>('a' + i % 26);
  const TextSamples samples = text_samples(text, contents, 16, "texts.txt");
  EXPECT_EQ(samples.calibrate.size(), 56u);
  EXPECT_EQ(samples.held_out.size(), 8u);
  for (const auto& sequences : {samples.calibrate, samples.held_out})
    for (const std::vector<int32_t>& ids : sequences) {
      EXPECT_EQ(ids.size(), 16u);
      EXPECT_EQ(ids.front(), samples.calibrate.front().front()) << "each begins as a text does";
    }
}

TEST(TextSamples, RefuseWhatIsNoText) {
  const std::vector<uint8_t> text = testing::small_language_model()->table.text;
  EXPECT_NE(refusal({}, "abc").find("the model has no tokenizer"), std::string::npos);
  EXPECT_NE(refusal(text, "").find("texts.txt is empty"), std::string::npos);
  EXPECT_NE(refusal(text, "ab\xff").find("byte 2 is not UTF-8"), std::string::npos);
  EXPECT_NE(refusal(text, "too short").find("9 tokens are too few: expected at least 120"), std::string::npos)
      << refusal(text, "too short");
}

}  // namespace
}  // namespace ferry::by_text
