#include "converter/checkpoint/quantized.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;

CheckpointTensor of_bytes(ElementType type, std::vector<int64_t> shape, const std::vector<uint8_t>& bytes) {
  return {type, std::move(shape), std::as_bytes(std::span(bytes))};
}

// OCP 8-bit Floating Point Specification (OFP8), tables 1 and 2.
TEST(Float8, HasTheValuesOfItsSpecification) {
  const std::vector<uint8_t> codes = {0x00, 0x80, 0x01, 0x07, 0x08, 0x38, 0x7e, 0xfe, 0x7f, 0xff};
  const std::vector<float> e4m3 = of_bytes(ElementType::F8_E4M3, {10}, codes).to_floats();
  const float expected[] = {0, -0.0f, 0x1p-9f, 0x1.cp-7f, 0x1p-6f, 1, 448, -448};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(e4m3[i], expected[i]) << i;
  EXPECT_TRUE(std::signbit(e4m3[1]));
  EXPECT_TRUE(std::isnan(e4m3[8]) && std::isnan(e4m3[9]));

  const std::vector<uint8_t> others = {0x01, 0x03, 0x04, 0x3c, 0x7b, 0x7c, 0xfc, 0x7d};
  const std::vector<float> e5m2 = of_bytes(ElementType::F8_E5M2, {8}, others).to_floats();
  const float wide[] = {0x1p-16f, 0x1.8p-15f, 0x1p-14f, 1, 57344, INFINITY, -INFINITY};
  for (size_t i = 0; i < std::size(wide); ++i) EXPECT_EQ(e5m2[i], wide[i]) << i;
  EXPECT_TRUE(std::isnan(e5m2[7]));

  const std::vector<uint8_t> powers = {0, 127, 254, 255};
  const std::vector<float> e8m0 = of_bytes(ElementType::F8_E8M0, {4}, powers).to_floats();
  EXPECT_EQ((std::vector<float>(e8m0.begin(), e8m0.begin() + 3)), (std::vector<float>{0x1p-127f, 1, 0x1p127f}));
  EXPECT_TRUE(std::isnan(e8m0[3]));
}

constexpr uint8_t kOne = 0x38;  // of F8_E4M3

// A checkpoint with "m.weight" of ones in F8_E4M3 and "m.<scale>", whose factors are 1, 2, 3...
std::shared_ptr<MemoryCheckpoint> quantized(const std::vector<int64_t>& shape, const std::string& scale,
                                            const std::vector<int64_t>& scale_shape) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  const auto count = [](const std::vector<int64_t>& dims) {
    size_t n = 1;
    for (const int64_t d : dims) n *= static_cast<size_t>(d);
    return n;
  };
  checkpoint->add("m.weight", shape, std::vector<uint8_t>(count(shape), kOne));
  checkpoint->set_type("m.weight", ElementType::F8_E4M3);
  std::vector<float> factors;
  while (factors.size() < count(scale_shape)) factors.push_back(static_cast<float>(factors.size() + 1));
  checkpoint->add("m." + scale, scale_shape, std::move(factors));
  return checkpoint;
}

json quantization_json(const json& quantization) { return {{"quantization_config", quantization}}; }

const json kBlocks = {{"quant_method", "fp8"}, {"weight_block_size", {2, 3}}};
const json kTensors = {{"quant_method", "fp8"}, {"activation_scheme", "static"}};
const json kChannels = {
    {"quant_method", "compressed-tensors"},
    {"format", "float-quantized"},
    {"config_groups", {{"group_0", {{"weights", {{"num_bits", 8}, {"type", "float"}, {"symmetric", true}}}}}}}};
const json kModelOpt = {{"quant_method", "modelopt"}, {"quant_algo", "FP8"}};

TEST(Quantized, ElementsAreMultipliedByTheScaleOfTheirBlock) {
  const struct {
    json quantization;
    const char* scale;
    std::vector<int64_t> shape, scales;
    std::vector<float> values;
  } kCases[] = {
      {kBlocks, "weight_scale_inv", {3, 4}, {2, 2}, {1, 1, 1, 2, 1, 1, 1, 2, 3, 3, 3, 4}},  // incomplete blocks
      {kBlocks, "weight_scale_inv", {2, 2, 3}, {2, 1, 1}, {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}},
      {kBlocks, "weight_scale_inv", {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {kTensors, "weight_scale", {2, 2}, {}, {1, 1, 1, 1}},
      {kTensors, "weight_scale_inv", {2, 2}, {1}, {1, 1, 1, 1}},
      {kModelOpt, "weight_scale", {2, 2}, {1}, {1, 1, 1, 1}},
      {kChannels, "weight_scale", {3, 2}, {3, 1}, {1, 1, 2, 2, 3, 3}},
      {kChannels, "weight_scale", {3, 2}, {3}, {1, 1, 2, 2, 3, 3}},
      {{{"quant_method", "fbgemm_fp8"}}, "weight_scale", {3, 2}, {3, 1}, {1, 1, 2, 2, 3, 3}},
  };
  for (const auto& c : kCases) {
    const auto stored = quantized(c.shape, c.scale, c.scales);
    stored->add("m.input_scale", {}, std::vector<float>{2});
    const auto read = dequantized(stored, quantization_json(c.quantization));
    EXPECT_EQ(read->tensors().size(), 1u) << c.quantization;
    EXPECT_EQ(read->tensors().at("m.weight").to_floats(), c.values) << c.quantization;
    EXPECT_EQ(read->tensors().at("m.weight").to_doubles(), std::vector<double>(c.values.begin(), c.values.end()));
    EXPECT_EQ(read->notes().size(), 2u) << "of weights, and of activations";
  }
}

TEST(Quantized, WhatIsNotUnderstoodIsRefusedByName) {
  const auto refused = [](const json& quantization, const std::vector<int64_t>& scales = {2, 2},
                          const std::string& scale = "weight_scale_inv") {
    return complaint([&] { dequantized(quantized({3, 4}, scale, scales), quantization_json(quantization)); });
  };
  const auto unsupported = [&](const json& quantization) {
    const std::string all = refused(quantization);
    const std::string begin = "config.json: quantization_config: ", end = " is not supported (supported: fp8, ";
    return all.substr(begin.size(), all.find(end) - begin.size());
  };
  EXPECT_EQ(unsupported({{"bits", 4}}), "the quant_method ''");
  EXPECT_EQ(unsupported({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}), "the quant_algo 'NVFP4' of modelopt");
  EXPECT_EQ(unsupported({{"quant_method", "compressed-tensors"}, {"format", "marlin-24"}}),
            "the format 'marlin-24' of compressed-tensors");
  json few = kChannels;
  few["config_groups"]["group_0"]["weights"]["num_bits"] = 4;
  EXPECT_EQ(unsupported(few), "compressed-tensors with weights of 4 bits");
  EXPECT_EQ(
      refused(kBlocks, {3, 2}),
      "'m.weight_scale_inv' has shape [3,2], which is no scale per tensor, row or block[2,3] of 'm.weight' [3,4]");
  EXPECT_EQ(refused(kTensors),
            "'m.weight_scale_inv' has shape [2,2], which is no scale per tensor, row or block of 'm.weight' [3,4]");
  EXPECT_EQ(refused(kBlocks, {2, 2}, "other"),
            "'m.weight' is F8_E4M3, but the checkpoint has neither 'm.weight_scale_inv' nor 'm.weight_scale'");
  EXPECT_EQ(refused({{"quant_method", "fp8"}, {"weight_block_size", {128}}}),
            "config.json: quantization_config: a block size is [128], expected two integers above 0");
  EXPECT_EQ(complaint([] {
              const auto stored = quantized({2}, "weight_scale", {1});
              stored->set_type("m.weight", ElementType::U8);
              dequantized(stored, quantization_json(kTensors));
            }),
            "'m.weight' is U8, but has the scales 'm.weight_scale': expected F8_E4M3, F8_E5M2 or I8");
  EXPECT_EQ(
      complaint([] { dequantized(quantized({2}, "weight_scale", {1}), json()); }),
      "'m.weight' is F8_E4M3 with the scales 'm.weight_scale', but no config.json with a quantization_config says "
      "how to apply them");
  const auto plain = quantized({2}, "other", {1});
  EXPECT_EQ(dequantized(plain, json()), plain) << "values of 8 bits";
}

}  // namespace
}  // namespace ferry
