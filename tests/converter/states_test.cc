// Passes on operators with several outputs, and on those with a state.
#include <gtest/gtest.h>

#include "converter/graph/ops.h"
#include "converter/pack/version.h"
#include "converter/passes/passes.h"

namespace ferry {
namespace {

const fbs::OperatorT& only(const Graph& graph) { return *graph.table.operators.front(); }

TEST(SeveralOutputs, UnusedOnesAreRemoved) {
  for (const size_t read : {0, 1}) {
    Graph graph;
    const Tensor x = graph.add_input("x", {2, 9}, fbs::Layout::Same);
    fbs::TopKT params;
    params.k = 3;
    graph.add_output("y", graph.add_op_with_outputs("best", params, {x}, 2)[read], fbs::Layout::Same);
    EXPECT_EQ(format_version(graph.table), 2u);
    remove_dead_code(graph, {});
    ASSERT_EQ(graph.table.operators.size(), 1u);
    EXPECT_EQ(only(graph).outputs.size(), read + 1);  // positions are always computed: values depend on them
    EXPECT_EQ(graph.table.tensors.size(), read + 2);
    EXPECT_EQ(graph.table.outputs[0]->tensor, only(graph).outputs.back());
    EXPECT_EQ(format_version(graph.table), read == 0 ? 1u : 2u);
  }
}

// Later runs read it.
TEST(GraphStates, AppendsAreNotDeadCode) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 2, 3}, fbs::Layout::Same);
  append(relu(x), graph.add_state("held", {1, 9, 3}, 1));
  graph.add_output("y", sigmoid(x), fbs::Layout::Same);
  remove_dead_code(graph, {});
  EXPECT_EQ(graph.table.operators.size(), 3u);
}

TEST(GraphStates, StateValuesAreNotConstant) {
  Graph graph;
  const State state = graph.add_state("held", {1, 9, 3}, 1);
  const Tensor c = graph.add_constant("c", {1, 2, 3}, std::vector<float>(6, 1));
  graph.add_input("x", {1}, fbs::Layout::Same);
  const Tensor places = positions(c, state), all = append(c, state);
  graph.add_output("y", relu(all), fbs::Layout::Same);
  graph.add_output("places", reshape(places, {2, 1}), fbs::Layout::Same);
  fold_constants(graph, {});
  EXPECT_EQ(graph.table.operators.size(), 4u);
}

// The convolution's output is unused, but later runs read its state.
TEST(GraphStates, NewFixedSizeStatesAreNotDeadCode) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 2, 3}, fbs::Layout::Same);
  fbs::CausalConv1dT conv;
  conv.state = graph.add_state("held", {1, 1, 3}, Graph::kFixed).index;
  graph.add_op("conv", conv, {relu(x), graph.add_constant("w", {2, 3}, std::vector<float>(6, 1))});
  graph.add_output("y", sigmoid(x), fbs::Layout::Same);
  remove_dead_code(graph, {});
  EXPECT_EQ(graph.table.operators.size(), 3u);
  EXPECT_EQ(format_version(graph.table), 2u);
}

TEST(SeveralGraphs, ShareConstantsAndStates) {
  const auto owner = std::make_shared<const std::vector<float>>(6, 1.0f);
  const Constant weight{owner, std::as_bytes(std::span(*owner))};
  const auto make = [&](Graph& graph, const char* name, int32_t bound) {
    graph.table.name = name;
    const Tensor x = graph.add_input("x", {1, 2, 3}, fbs::Layout::Same);
    const Tensor w = graph.add_constant("w", fbs::DType::Float32, {1, 2, 3}, weight);
    graph.add_constant("own", {1}, std::vector<float>{2});
    graph.add_output("y", append(x + w, graph.add_state("held", {1, bound, 3}, 1)), fbs::Layout::Same);
  };
  Graph first, second, third;
  make(first, "first", 9);
  make(second, "second", 9);
  make(third, "third", 8);
  first.add_graph(std::move(second));
  ASSERT_EQ(first.table.graphs.size(), 1u);
  EXPECT_EQ(first.table.states.size(), 1u);
  EXPECT_EQ(first.table.graphs[0]->tensors[1]->buffer, first.table.tensors[1]->buffer);
  EXPECT_NE(first.table.graphs[0]->tensors[2]->buffer, first.table.tensors[2]->buffer);
  try {
    first.add_graph(std::move(third));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "graph 'third' has a state 'held' of another shape, type or window than graph 'first'");
  }
}

TEST(FormatVersion, IsTheLowestThatABlobNeeds) {
  const auto of = [](const auto& change) {
    Graph graph;
    const Tensor x = graph.add_input("x", {1, 4, 8}, fbs::Layout::Same);
    change(graph, x);
    return format_version(graph.table);
  };
  EXPECT_EQ(of([](Graph&, Tensor x) { attention(x, x, x, {.heads = 2}); }), 1u);
  EXPECT_EQ(of([](Graph&, Tensor x) { attention(x, x, x, {.heads = 2, .causal = true}); }), 2u);
  EXPECT_EQ(of([](Graph& g, Tensor) { g.add_state("held", {1, 4, 8}, 1); }), 2u);
  EXPECT_EQ(of([](Graph& g, Tensor) { g.table.inputs[0]->bound = {1, 9, 8}; }), 2u);
  EXPECT_EQ(of([](Graph& g, Tensor) { g.table.graphs.push_back(std::make_unique<fbs::GraphT>()); }), 2u);
}

}  // namespace
}  // namespace ferry
