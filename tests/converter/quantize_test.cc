// Weights as integers: computed in parts as they are written, with the scale of the minimum error.
#include "converter/quantize/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "converter/graph/float16.h"
#include "sdk/model/elements.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

using Quantize = void (*)(Graph&, const fbs::TensorT&);

// A weight [rows,columns] that is computed whole, or in parts if `parts`.
Constant computed(const std::vector<double>& values, bool parts) {
  Constant constant;
  constant.size = values.size() * sizeof(double);
  constant.compute = [values] { return hold(values); };
  if (parts)
    constant.compute_part = [values](size_t begin, size_t size) {
      Constant part = hold(values);
      part.bytes = part.bytes.subspan(begin, size);
      return part;
    };
  return constant;
}

std::vector<std::byte> bytes_of_parts(const Constant& constant, size_t size) {
  std::vector<std::byte> all;
  for (size_t begin = 0; begin < constant.byte_count(); begin += size) {
    const Constant part = constant.read_part(begin, std::min(size, constant.byte_count() - begin));
    all.insert(all.end(), part.bytes.begin(), part.bytes.end());
  }
  return all;
}

TEST(Quantize, PartsAreThoseOfTheWhole) {
  const std::vector<double> values = noise(48 * 64, 1);
  const Quantize kinds[] = {quantize_to_int4, quantize_to_int8};
  for (const Quantize quantize : kinds) {
    Graph whole, parts;
    for (Graph* graph : {&whole, &parts}) {
      const Tensor weight =
          graph->add_constant("weight", fbs::DType::Float64, {48, 64}, computed(values, graph == &parts));
      quantize(*graph, graph->at(weight.id));
    }
    const Constant expected = whole.buffer(1).read(), scales = whole.buffer(2).read();
    const std::vector<std::byte> integers(expected.bytes.begin(), expected.bytes.end());
    EXPECT_EQ(bytes_of_parts(parts.buffer(1), 96), integers);
    EXPECT_EQ(bytes_of_parts(parts.buffer(1), 7), integers) << "parts of incomplete blocks";
    EXPECT_EQ(bytes_of_parts(parts.buffer(2), parts.buffer(2).byte_count()),
              std::vector<std::byte>(scales.bytes.begin(), scales.bytes.end()));
  }
}

TEST(Quantize, Int4HasTheScaleOfTheMinimumError) {
  for (const double size : {1.0, 1e-30, 1e37}) {
    std::vector<double> values = noise(64 * kInt4Block, 2);
    for (double& value : values) value *= size;
    Graph graph;
    const Tensor weight = graph.add_constant("weight", {64, kInt4Block}, values);
    quantize_to_int4(graph, graph.at(weight.id));
    const std::vector<double> stored = graph.values(weight.id);
    for (size_t begin = 0; begin < values.size(); begin += kInt4Block) {
      const auto error = [&](auto value_at) {
        double sum = 0;
        for (size_t i = begin; i < begin + kInt4Block; ++i) sum += std::pow((values[i] - value_at(i)) / size, 2);
        return sum;
      };
      double largest = 0, best = INFINITY;
      for (size_t i = begin; i < begin + kInt4Block; ++i) largest = std::max(largest, std::fabs(values[i]));
      for (double steps = 6; steps <= 9; steps += 0.25) {
        // A BFloat16 is within 2^-8 of the scale.
        const double scale = largest / steps;
        best =
            std::min(best, error([&](size_t i) { return std::clamp(std::round(values[i] / scale), -8., 7.) * scale; }));
      }
      EXPECT_LT(error([&](size_t i) { return stored[i]; }), 1.2 * best);
    }
  }
}

// Values of integers from -`highest` - 1 to `highest` in blocks of 32 times scales of either sign, all of them values
// of `scales`.
std::vector<double> products(size_t count, int highest, fbs::DType scales) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t block = i / 32;
    const double magnitude = (block % 3 == 0 ? 1.0 : 0.03) * (1 + static_cast<double>(block % 64) / 128);
    const auto bits = scales == fbs::DType::Float16 ? to_float16(magnitude) : to_bfloat16(magnitude * 1e-6);
    const float scale = scales == fbs::DType::Float16 ? from_float16(bits) : from_bfloat16(bits);
    const int integer = static_cast<int>((i * 7919 + block) % static_cast<size_t>(2 * highest + 2)) - highest - 1;
    values[i] = static_cast<double>(block % 2 == 0 ? scale : -scale) * (block % 17 == 3 ? 0 : integer);
  }
  return values;
}

TEST(KeepIntegers, StoresExactlyTheValues) {
  struct Kind {
    int highest;
    fbs::DType scales, expected;
  };
  using fbs::DType;
  for (const Kind& kind : {Kind{7, DType::Float16, DType::Int4}, Kind{127, DType::Float16, DType::Int8},
                           Kind{7, DType::BFloat16, DType::Int4}, Kind{127, DType::BFloat16, DType::Int8}})
    for (const bool parts : {false, true}) {
      const std::vector<double> values = products(48 * 64, kind.highest, kind.scales);
      Graph graph;
      const Tensor x = graph.add_input("x", {2, 64}, fbs::Layout::Same);
      const Tensor weight = graph.add_constant("weight", fbs::DType::Float64, {48, 64}, computed(values, parts));
      graph.add_output("y", graph.add_op("fc", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
      const KeptWeights kept = keep_integers(graph);
      EXPECT_EQ(kept.four + kept.eight, 1u);
      const Type type = graph.type(weight.id);
      EXPECT_EQ(type.dtype, kind.expected);
      EXPECT_EQ(graph.at(type.scale).dtype, kind.scales);
      EXPECT_EQ(graph.values(weight.id), values);
    }
}

TEST(KeepIntegers, OfWholeRowsHaveFloat32Scales) {
  std::vector<double> values(48 * 40);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(from_bfloat16(to_bfloat16(1e-3 * static_cast<double>(1 + i / 40)))) *
                (static_cast<int>(i * 31 % 256) - 128);
  Graph graph;
  const Tensor x = graph.add_input("x", {2, 40}, fbs::Layout::Same);
  const Tensor weight = graph.add_constant("weight", {48, 40}, values);
  graph.add_output("y", graph.add_op("fc", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
  EXPECT_EQ(keep_integers(graph).eight, 1u);
  EXPECT_EQ(graph.type(weight.id).block, 0);
  EXPECT_EQ(graph.values(weight.id), values);
}

TEST(KeepIntegers, LeavesOtherValues) {
  std::vector<double> values = products(48 * 64, 7, fbs::DType::Float16);
  values[77] *= 1 + 0x1p-20;
  for (const double odd : {values[77], static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    values[77] = odd;
    Graph graph;
    const Tensor x = graph.add_input("x", {2, 64}, fbs::Layout::Same);
    const Tensor weight = graph.add_constant("weight", {48, 64}, values);
    graph.add_output("y", graph.add_op("fc", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
    EXPECT_EQ(keep_integers(graph).floats, std::vector<std::string>{"weight"});
    EXPECT_FALSE(graph.type(weight.id).quantized);
  }
}

TEST(Quantize, ValuesBeyondFloat32AreRefused) {
  for (const double wrong : {1e39, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    std::vector<double> values(64, 1.0);
    values[40] = wrong;
    Graph graph;
    const Tensor weight = graph.add_constant("weight", {2, 32}, values);
    quantize_to_int4(graph, graph.at(weight.id));
    EXPECT_NE(complaint([&] { graph.values(weight.id); }).find("element 40"), std::string::npos);
  }
}

}  // namespace
}  // namespace ferry
