// A graph with one input and one output, for tests of passes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "converter/graph/ops.h"
#include "converter/passes/passes.h"
#include "converter/reference/interpreter.h"

namespace ferry {

using reference::Array;
using Pass = void (*)(Graph&, const PassOptions&);

inline std::vector<double> noise(int64_t count, double seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(seed + 1.7 * static_cast<double>(i)));
  return values;
}

// A graph with one input and one output, with short names for its parts.
struct Network {
  Graph graph;

  Tensor input(const Shape& shape) { return graph.add_input("input", shape, fbs::Layout::NCHW); }
  Tensor constant(const Shape& shape, double seed) {
    return graph.add_constant("c", shape, noise(shape.elements(), seed));
  }
  Tensor conv(Tensor x, int out, int kernel, bool bias, int groups = 1) {
    fbs::Conv2dT params;
    params.groups = groups;
    std::vector<Tensor> inputs = {x, constant({out, kernel, kernel, channels(x) / groups}, 1)};
    if (bias) inputs.push_back(constant({out}, 2));
    return graph.add_op("conv", params, inputs);
  }
  Tensor linear(Tensor x, int out) {
    return graph.add_op("linear", fbs::LinearT{}, {x, constant({out, channels(x)}, 3), constant({out}, 4)});
  }
  void output(Tensor y) { graph.add_output("output", y, fbs::Layout::Same); }
  void tap(const char* name, Tensor y, bool block = false) { graph.add_tap(name, y, fbs::Layout::Same, block); }

  std::vector<double> run() const {
    const Shape shape = graph.shape(graph.table.inputs.front()->tensor);
    const auto values = reference::interpret(graph, {Array{shape, noise(shape.elements(), 5)}});
    return values.at(graph.table.outputs.front()->tensor).values;
  }
  std::vector<fbs::OpParams> ops() const {
    std::vector<fbs::OpParams> types;
    for (const auto& op : graph.table.operators) types.push_back(op->params.type);
    return types;
  }
  std::vector<std::string> taps() const {
    std::vector<std::string> names;
    for (const auto& tap : graph.table.taps) names.push_back(tap->name);
    return names;
  }

  // Runs the pass and dead code elimination; the outputs must stay the same, up to float64 rounding.
  void expect_same_after(Pass pass, const PassOptions& options = {}) {
    const std::vector<double> before = run();
    pass(graph, options);
    remove_dead_code(graph, options);
    const std::vector<double> after = run();
    ASSERT_EQ(before.size(), after.size());
    double largest = 0;
    for (double v : before) largest = std::max(largest, std::abs(v));
    ASSERT_GT(largest, 0);
    for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-13 * largest) << i;
  }
};

using Ops = std::vector<fbs::OpParams>;
inline constexpr auto kConv = fbs::OpParams::Conv2d;
inline constexpr auto kConvTranspose = fbs::OpParams::ConvTranspose2d;
inline constexpr auto kLinear = fbs::OpParams::Linear;
inline constexpr auto kBinary = fbs::OpParams::Binary;
inline constexpr auto kUnary = fbs::OpParams::Unary;
inline constexpr auto kPad = fbs::OpParams::Pad;
inline constexpr auto kPool = fbs::OpParams::Pool2d;
inline constexpr auto kReshape = fbs::OpParams::Reshape;
inline constexpr auto kSlice = fbs::OpParams::Slice;
inline constexpr auto kTranspose = fbs::OpParams::Transpose;
inline constexpr auto kShuffle = fbs::OpParams::PixelShuffle;

}  // namespace ferry
