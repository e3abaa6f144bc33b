// Writes the networks of tests/data/tflite/taps for make_taps.py, which adds what the interpreter computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/tflite/file_builder.h"

namespace ferry::testing {
namespace {

using Act = schema::ActivationFunctionType;
using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Padding = schema::Padding;
using Shape = FileBuilder::Shape;
using Type = FileBuilder::Type;

// Two convolutions, one of them per channel, a sum, a mean and a classifier; of floats, or of integers.
class TappedNetwork {
 public:
  explicit TappedNetwork(bool integers) : integers_(integers) {}

  std::string file() {
    const Shape map = {1, 6, 5, 8};
    const int x = b_.input({1, 12, 9, 3}, type(), scale(1.0f / 64, 3));
    const int stem = activation(map, 0.04f, -100);
    b_.op(Op::CONV_2D, {x, weight({8, 3, 3, 3}, 0, 1), bias(8, 1.0f / 64)}, {stem}, Kind::Conv2DOptions,
          schema::CreateConv2DOptions(b_.fbb, Padding::SAME, 2, 2, Act::RELU6).Union(), 3);
    const int inner = activation(map, 0.05f, 0);
    b_.op(Op::DEPTHWISE_CONV_2D, {stem, weight({1, 3, 3, 8}, 3, 2), bias(8, 0.04f)}, {inner},
          Kind::DepthwiseConv2DOptions,
          schema::CreateDepthwiseConv2DOptions(b_.fbb, Padding::SAME, 1, 1, 1, Act::NONE).Union(), 3);
    const int sum = activation(map, 0.06f, -20);
    b_.op(Op::ADD, {stem, inner}, {sum}, Kind::AddOptions, schema::CreateAddOptions(b_.fbb, Act::RELU).Union(), 2);
    const int mean = activation({1, 8}, 0.03f, -20);
    b_.op(Op::MEAN, {sum, b_.vector({1, 2})}, {mean}, Kind::ReducerOptions,
          schema::CreateReducerOptions(b_.fbb).Union(), 2);
    const int scores = activation({1, 5}, 0.1f, 4);
    b_.op(Op::FULLY_CONNECTED, {mean, weight({5, 8}, -1, 3), bias(5, 0.03f)}, {scores}, Kind::FullyConnectedOptions,
          schema::CreateFullyConnectedOptions(b_.fbb).Union(), 4);
    const int shares = activation({1, 5}, 1.0f / 256, -128);
    b_.op(Op::SOFTMAX, {scores}, {shares}, Kind::SoftmaxOptions, schema::CreateSoftmaxOptions(b_.fbb, 1).Union(), 2);
    return b_.finish({shares});
  }

 private:
  Type type() const { return integers_ ? Type::INT8 : Type::FLOAT32; }
  flatbuffers::Offset<schema::QuantizationParameters> scale(float scale, int64_t zero) {
    return integers_ ? b_.scale({scale}, {zero}) : 0;
  }
  int activation(const Shape& shape, float of, int64_t zero) { return b_.activation(shape, type(), scale(of, zero)); }

  // A scale per index of `axis`, or one.
  int weight(const Shape& shape, int axis, uint32_t seed) {
    const std::vector<float> values = random_values(FileBuilder::elements(shape), seed);
    scales_.assign(axis < 0 ? 1 : static_cast<size_t>(shape[static_cast<size_t>(axis)]), 0);
    for (size_t i = 0; i < scales_.size(); ++i) scales_[i] = 0.005f + 0.0005f * static_cast<float>(i);
    if (!integers_) return b_.constant(shape, values);
    std::vector<int8_t> narrow;
    for (const float v : values) narrow.push_back(static_cast<int8_t>(std::nearbyint(v * 127)));
    return b_.constant_of(shape, Type::INT8, narrow,
                          b_.scale(scales_, std::vector<int64_t>(scales_.size()), std::max(axis, 0)));
  }
  int bias(int32_t size, float of_input) {
    const std::vector<float> values = random_values(static_cast<size_t>(size), 9);
    if (!integers_) return b_.constant({size}, values);
    std::vector<int32_t> wide;
    for (const float v : values) wide.push_back(static_cast<int32_t>(std::nearbyint(v * 4000)));
    for (float& s : scales_) s *= of_input;
    return b_.constant_of({size}, Type::INT32, wide, b_.scale(scales_, std::vector<int64_t>(scales_.size())));
  }

  FileBuilder b_;
  const bool integers_;
  std::vector<float> scales_;  // of the last weight
};

// FERRY_WRITE_TFLITE_TAPS names a folder.
TEST(TfliteTaps, AreWrittenForTheInterpreter) {
  const char* to = std::getenv("FERRY_WRITE_TFLITE_TAPS");
  if (to == nullptr) GTEST_SKIP() << "FERRY_WRITE_TFLITE_TAPS names no folder";
  for (const bool integers : {false, true}) {
    const std::filesystem::path folder = std::filesystem::path(to) / (integers ? "integers" : "floats");
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "model.tflite", std::ios::binary) << TappedNetwork(integers).file();
  }
}

}  // namespace
}  // namespace ferry::testing
