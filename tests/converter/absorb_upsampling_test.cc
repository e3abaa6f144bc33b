#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "converter/graph/ops.h"
#include "converter/passes/passes.h"
#include "converter/reference/interpreter.h"
#include "tests/converter/count.h"

namespace ferry {
namespace {

std::vector<double> noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& v : values) v = static_cast<double>(random()) / 2147483648.0 - 1;
  return values;
}

struct Case {
  int scale, kernel_h, kernel_w;
  int pad_more = 0;
  fbs::ResizeKind kind = fbs::ResizeKind::Nearest;
};

// 5x4 pixels of 3 channels, upscaled, then a convolution to 2 channels with a clamp.
std::unique_ptr<Graph> make_graph(const Case& c, bool tap_upscaled = false) {
  auto graph = std::make_unique<Graph>();
  const Tensor input = graph->add_input("input", {1, 5, 4, 3}, fbs::Layout::NCHW);
  const Tensor upscaled = resize(input, c.kind, c.scale);
  graph->add_tap("up", upscaled, fbs::Layout::NCHW, tap_upscaled);
  const Shape shape{2, c.kernel_h, c.kernel_w, 3};
  fbs::Conv2dT conv;
  conv.pad_top = conv.pad_bottom = c.kernel_h / 2 + c.pad_more;
  conv.pad_left = conv.pad_right = c.kernel_w / 2 + c.pad_more;
  conv.output_min = -0.5f;
  conv.output_max = 1.5f;
  const Tensor output = graph->add_op(
      "conv", conv,
      {upscaled, graph->add_constant("conv.weight", shape, noise(static_cast<size_t>(shape.elements()), 2)),
       graph->add_constant("conv.bias", Shape{2}, noise(2, 3))});
  graph->add_tap("conv", output, fbs::Layout::NCHW, false);
  graph->add_output("output", output, fbs::Layout::NCHW);
  return graph;
}

std::vector<double> result(const Graph& graph) {
  const reference::Array input{{1, 5, 4, 3}, noise(60, 1)};
  return reference::interpret(graph, {input}).at(graph.table.outputs[0]->tensor).values;
}

TEST(AbsorbUpsampling, GivesTheSameResultIncludingTheBorders) {
  for (const Case& c :
       {Case{2, 3, 3}, Case{3, 3, 3}, Case{4, 3, 3}, Case{8, 3, 3}, Case{2, 5, 5}, Case{2, 7, 1}, Case{3, 1, 5}}) {
    SCOPED_TRACE(::testing::Message() << "scale " << c.scale << " kernel " << c.kernel_h << "x" << c.kernel_w);
    auto graph = make_graph(c);
    const std::vector<double> before = result(*graph);
    run_passes(*graph, {});
    EXPECT_EQ(count(*graph, fbs::OpParams::Resize2d), 0);
    EXPECT_EQ(count(*graph, fbs::OpParams::PixelShuffle), 1);
    const std::vector<double> after = result(*graph);
    ASSERT_EQ(before.size(), after.size());
    // Sums of at most 49 * 3 products of magnitude 1, in another order.
    for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-13) << i;
    ASSERT_EQ(graph->table.taps.size(), 1u) << "the upscaled map is gone, the convolution's result is not";
    EXPECT_EQ(graph->table.taps[0]->name, "conv");
    EXPECT_EQ(graph->table.taps[0]->tensor, graph->table.outputs[0]->tensor);
  }
}

TEST(AbsorbUpsampling, LeavesInexactCasesUnchanged) {
  const auto kept = [](std::unique_ptr<Graph> graph, const PassOptions& options = {}) {
    run_passes(*graph, options);
    return count(*graph, fbs::OpParams::Resize2d) == 1 && count(*graph, fbs::OpParams::PixelShuffle) == 0;
  };
  EXPECT_TRUE(kept(make_graph({2, 3, 3, 0, fbs::ResizeKind::Bilinear})));
  EXPECT_TRUE(kept(make_graph({2, 3, 3, 1}))) << "padded by more than the kernel's reach";
  EXPECT_TRUE(kept(make_graph({2, 4, 4}))) << "no middle";
  EXPECT_TRUE(kept(make_graph({2, 3, 3}, true))) << "the upscaled map is a block's output";
  EXPECT_TRUE(kept(make_graph({2, 3, 3}), {.keep_taps = true}));
}

// A tap is the framework's value, so a tap whose channels are reordered must be dropped.
TEST(AbsorbPixelShuffle, DropsTheTapOfTheConvolutionItReorders) {
  for (const bool keep_taps : {false, true}) {
    Graph graph;
    const Tensor input = graph.add_input("input", {1, 3, 4, 3}, fbs::Layout::NCHW);
    const Tensor weight = graph.add_constant("conv.weight", Shape{8, 1, 1, 3}, noise(24, 2));
    const Tensor conv = graph.add_op("conv", fbs::Conv2dT{}, {input, weight});
    graph.add_tap("conv", conv, fbs::Layout::NCHW, false);
    graph.add_output("output", pixel_shuffle(conv, 2), fbs::Layout::NCHW);
    const reference::Array image{{1, 3, 4, 3}, noise(36, 1)};
    const auto value = [&](TensorId tensor) { return reference::interpret(graph, {image}).at(tensor).values; };
    const auto tapped = value(graph.table.taps[0]->tensor), output = value(graph.table.outputs[0]->tensor);
    run_passes(graph, {.keep_taps = keep_taps});
    EXPECT_EQ(value(graph.table.outputs[0]->tensor), output);
    EXPECT_EQ(graph.table.operators.size(), keep_taps ? 5u : 2u);
    ASSERT_EQ(graph.table.taps.size(), keep_taps ? 1u : 0u);
    if (keep_taps) {
      EXPECT_EQ(value(graph.table.taps[0]->tensor), tapped);
    }
  }
}

}  // namespace
}  // namespace ferry
