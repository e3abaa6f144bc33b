// `ferry bisect` on a blob of two graphs with inputs that are not images: finds the graph with the fault.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>

#include "sdk/model/model.h"
#include "tests/parity/bisected_network.h"

namespace ferry::bisect {
namespace {

class BisectGraphs : public BisectedNetwork {
 protected:
  void SetUp() override { set_up("hf_sam_tiny_box", ""); }

  Finding find_in(const char* graph, const RunNetwork& run = run_on_cpu) {
    const Finding finding = find(run);
    EXPECT_EQ(finding.graph, *graph != 0 ? graph : graph_->table.name);
    return finding;
  }
};

void forget(std::vector<float>& v) { std::fill(v.begin(), v.end(), 0.0f); }

void turn(std::vector<float>& v) {
  for (auto at = v.begin(); at != v.end(); at += 9) std::reverse(at, at + 9);
}

TEST_F(BisectGraphs, RightBlobHasNoFault) {
  from_right(false);
  EXPECT_EQ(find().fault, Fault::None);
}

TEST_F(BisectGraphs, KernelOfTheEncoder) {
  from_changed(false, "vision_encoder.neck.conv2.weight", turn);
  expect(find_in(""), Fault::Conversion, "vision_encoder.neck.conv2", "rotated by 180");
}
TEST_F(BisectGraphs, EpsilonOfTheEncoder) {
  from_right(true);
  op("vision_encoder.layers.2.layer_norm1", fbs::OpParams::LayerNorm).params.AsLayerNorm()->epsilon = 1e-3f;
  expect(find_in(""), Fault::Conversion, "vision_encoder.layers.2.layer_norm1", "epsilon is 0.001 instead of 1e-06");
}

TEST_F(BisectGraphs, EpsilonOfTheDecoder) {
  from_right(true);
  op("mask_decoder.transformer.layers.1.layer_norm2", fbs::OpParams::LayerNorm).params.AsLayerNorm()->epsilon = 1e-2f;
  expect(find_in("prompt"), Fault::Conversion, "mask_decoder.transformer.layers.1.layer_norm2", "epsilon is 0.01");
}
TEST_F(BisectGraphs, BiasOfTheDecoder) {
  from_changed(false, "mask_decoder.upscale_conv2.bias", forget);
  expect(find_in("prompt"), Fault::Conversion, "mask_decoder.upscale_conv2", "bias is missing");
}
// A table that the passes compute from the checkpoint; its reader has no module.
TEST_F(BisectGraphs, PointsOfTheDecoder) {
  from_changed(false, "prompt_encoder.point_embed.2.weight", forget);
  const Finding finding = find_in("prompt");
  EXPECT_EQ(finding.fault, Fault::Conversion) << finding.first;
  EXPECT_EQ(finding.op, "linear");
  EXPECT_EQ(finding.name, "before mask_decoder.transformer.layers.0.self_attn.v_proj");
  EXPECT_GT(finding.causes, 0u);
}

// With faults in both graphs, the first is reported: the second may follow from it.
TEST_F(BisectGraphs, ReportsTheFirstOfTwoFaults) {
  from_right(true);
  op("mask_decoder.transformer.layers.0.layer_norm2", fbs::OpParams::LayerNorm).params.AsLayerNorm()->epsilon = 1e-2f;
  op("vision_encoder.layers.3.layer_norm2", fbs::OpParams::LayerNorm).params.AsLayerNorm()->epsilon = 1e-3f;
  expect(find_in(""), Fault::Conversion, "vision_encoder.layers.3.layer_norm2", "epsilon");
}

// A faulty backend: it runs another blob than it is given.
TEST_F(BisectGraphs, DistinguishesBackendFromConversion) {
  from_right(false);
  const RunNetwork faulty = [](std::span<const std::byte> blob, const parity::Fixture& fixture) {
    const fbs::Graph* graph = nullptr;
    std::span<const std::byte> data;
    cli::check(verify(blob, &graph, &data));
    fbs::GraphT model;
    graph->UnPackTo(&model);
    for (const auto& op : model.operators)
      if (op->name == "mask_decoder.transformer.layers.0.layer_norm3") op->params.AsLayerNorm()->epsilon = 1e-2f;
    return run_on_cpu(assemble(model, data), fixture);
  };
  expect(find_in("prompt", faulty), Fault::Backend, "mask_decoder.transformer.layers.0.layer_norm3", "epsilon is 0.01");
}

// A family that flips a kernel: blob and graph agree, only the reference differs.
TEST_F(BisectGraphs, DistinguishesGraphFromConversion) {
  const auto turn_kernel = [](Graph& graph) {
    for (const auto& op : graph.table.operators) {
      if (op->name != "mask_decoder.upscale_conv2") continue;
      const auto inputs = static_cast<size_t>(graph.shape(op->inputs[1])[3]);  // for a 2x2 kernel
      recompute(graph, *op, 1, [inputs](const std::vector<double>& values, size_t i) {
        const size_t place = i / inputs % 4;
        return values[i - place * inputs + (3 - place) * inputs];
      });
    }
  };
  from_planted({.graph = turn_kernel}, false, Search::ByPlanted);
  expect(find_in("prompt"), Fault::Graph, "mask_decoder.upscale_conv2", "rotated by 180");
}

}  // namespace
}  // namespace ferry::bisect

#endif  // FERRY_HAS_CONVERTER
