// Graphs with states, computed by the oracle.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/graph/ops.h"
#include "converter/reference/interpreter.h"

namespace ferry {
namespace {

using reference::Array;

// A sequence in pieces gives the same result as at once.
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

reference::State held(const Shape& shape, std::vector<double> values) {
  return {{.bound = shape, .axis = -1, .length = 1}, std::move(values)};
}

TEST(CausalConv1dOracle, CountsByHand) {
  fbs::OperatorT op;
  op.params.Set(fbs::CausalConv1dT());
  const Array x{{1, 2, 2}, {1, 2, 3, 4}}, weight{{3, 2}, {1, 10, 2, 20, 3, 30}}, bias{{2}, {0.5, 0.25}};
  const std::vector<const Array*> inputs = {&x, &weight, &bias};
  const std::vector<reference::State> states = {held({1, 2, 2}, {5, 6, 7, 8})};
  const Array y = reference::compute(*SerializedOp(op), inputs, states);
  EXPECT_EQ(y.values,
            (std::vector<double>{5 + 2 * 7 + 3 + 0.5, 60 + 160 + 60 + 0.25, 7 + 2 + 9 + 0.5, 80 + 40 + 120 + 0.25}));
  EXPECT_EQ(reference::changed_state(*SerializedOp(op), inputs, y, states[0]).values, x.values);
  const Array one{{1, 1, 2}, {1, 2}};
  const std::vector<const Array*> shorter = {&one, &weight, &bias};
  const reference::State after = reference::changed_state(*SerializedOp(op), shorter, one, states[0]);
  EXPECT_EQ(after.values, (std::vector<double>{7, 8, 1, 2}));
  EXPECT_EQ(after.shape.length, 2);
}

// One head and a key head of two channels, then a second token.
TEST(GatedDeltaRuleOracle, CountsByHand) {
  fbs::OperatorT op;
  op.params.Set(fbs::GatedDeltaRuleT());
  const double half = std::log(0.5);
  const Array q{{1, 2, 2}, {1, 2, 1, 0}}, k{{1, 2, 2}, {3, 1, 1, 1}}, v{{1, 2, 1}, {8, 2}};
  const Array g{{1, 2, 1}, {half, 0}}, beta{{1, 2, 1}, {0.5, 1}};
  const std::vector<const Array*> inputs = {&q, &k, &v, &g, &beta};
  const std::vector<reference::State> states = {held({2, 1, 1, 2, 1}, {1.5, 4, 0.5, 0})};
  const Array y = reference::compute(*SerializedOp(op), inputs, states);
  // S = (1, 2); k S = 5, corrected by 1.5: S = (5.5, 3.5), q S = 12.5; then k S = 9, by -7: S = (-1.5, -3.5).
  EXPECT_EQ(y.values, (std::vector<double>{12.5, -1.5}));
  EXPECT_EQ(reference::changed_state(*SerializedOp(op), inputs, y, states[0]).values,
            (std::vector<double>{-1.5, -3.5, 0, 0}));
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
