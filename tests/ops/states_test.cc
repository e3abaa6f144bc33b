// Graphs with states, as the oracle computes them.
#include <gtest/gtest.h>

#include "converter/graph/ops.h"
#include "converter/reference/interpreter.h"

namespace ferry {
namespace {

using reference::Array;

// A sequence in pieces gives what it gives at once.
TEST(States, TheOracleTakesASequenceInPieces) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 5, 8}, fbs::Layout::Same);
  const State keys = graph.add_state("keys", {1, 9, 8}, 1), values = graph.add_state("values", {1, 9, 8}, 1);
  graph.add_output("places", positions(x, keys), fbs::Layout::Same);
  const Tensor all_keys = append(x, keys), all_values = append(x, values);
  const Tensor y = attention(x, all_keys, all_values, {.heads = 2, .causal = true, .window = 4});
  graph.add_output("y", y, fbs::Layout::Same);
  const auto part = [](int begin, int end) {
    Array array{{1, end - begin, 8}, {}};
    for (int i = begin * 8; i < end * 8; ++i) array.values.push_back(i * 37 % 16 / 8.0);
    return array;
  };
  const auto output = [&](const std::map<TensorId, Array>& all, size_t i) {
    return all.at(graph.table.outputs[i]->tensor).values;
  };

  const std::vector<double> whole = output(reference::interpret(graph, {part(0, 5)}), 1);
  std::vector<reference::State> states = reference::empty_states(graph);
  std::vector<double> pieces;
  for (const auto& [begin, end] : {std::pair(0, 3), {3, 4}, {4, 5}}) {
    const auto all = reference::interpret(graph, {part(begin, end)}, &states);
    EXPECT_EQ(output(all, 0).front(), begin);
    const std::vector<double> piece = output(all, 1);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(states[0].shape.length, 5);
  EXPECT_EQ(states[1].values, part(0, 5).values);
  EXPECT_EQ(pieces, whole);
}

TEST(States, OneTypeInAState) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 2, 3}, fbs::Layout::Same);
  const State state = graph.add_state("ids", {1, 9, 3}, 1, fbs::DType::Int32);
  try {
    append(x, state);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "'': append: the input is of type Float32, state 0 of Int32");
  }
}

}  // namespace
}  // namespace ferry
