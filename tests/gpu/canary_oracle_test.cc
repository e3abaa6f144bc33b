// The canaries' reference (sdk/gpu/canary/reference.h) agrees with the converter's oracle, which shares no code with
// it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "converter/reference/interpreter.h"
#include "sdk/gpu/canary/reference.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/operators/operators.h"
#include "tests/gpu/canary_networks.h"

namespace ferry::testing {
namespace {

// Relative to the oracle's maximum magnitude. Both accumulate in float64; the canaries' results are float32.
constexpr double kOracleBound = 3e-7;

using Network = std::function<Tensor(Graph&)>;

gpu::Array plain(const reference::Array& array) { return {array.shape, {array.values.begin(), array.values.end()}}; }

// Relative to the oracle's maximum magnitude.
double error_of(const gpu::Array& known, const reference::Array& right) {
  EXPECT_EQ(known.values.size(), right.values.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < right.values.size() && i < known.values.size(); ++i) {
    const double value = static_cast<double>(known.values[i]);
    if (value == right.values[i] || (std::isnan(value) && std::isnan(right.values[i]))) continue;
    const double error = std::fabs(value - right.values[i]);
    worst = std::max(worst, error >= 0 ? error : INFINITY);
    if (std::isfinite(right.values[i])) largest = std::max(largest, std::fabs(right.values[i]));
  }
  return worst == 0 ? 0 : worst / largest;
}

// Compares every operator of the network on the oracle's inputs. Adds the operators' types to `compared`.
void expect_same(const Network& network, std::set<fbs::OpParams>* compared) {
  Graph graph;
  graph.add_output("y", network(graph), fbs::Layout::Same);
  const std::map<TensorId, reference::Array> values = reference::interpret(graph, inputs_of(graph));
  for (const auto& op : graph.table.operators) {
    std::vector<gpu::Array> operands;
    for (const TensorId input : op->inputs) operands.push_back(plain(values.at(input)));
    std::vector<const gpu::Array*> pointers;
    for (const gpu::Array& operand : operands) pointers.push_back(&operand);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::Operator::Pack(builder, op.get()));
    const auto& serialized = *flatbuffers::GetRoot<fbs::Operator>(builder.GetBufferPointer());
    for (unsigned number = 0; number < op->outputs.size(); ++number) {
      const reference::Array& right = values.at(op->outputs[number]);
      const gpu::Array known = gpu::compute_plainly(serialized, pointers, right.shape, number);
      EXPECT_LE(error_of(known, right), kOracleBound)
          << op_name(op->params.type) << " with output " << to_string(right.shape);
    }
    compared->insert(op->params.type);
  }
}

TEST(CanaryReference, MatchesTheOracle) {
  const Network networks[] = {conv,
                              uneven_conv,
                              depthwise,
                              uneven_depthwise,
                              grouped,
                              transposed,
                              linear,
                              linear_of_integers<quantize_to_int8>,
                              linear_of_integers<quantize_to_int4>,
                              riders,
                              two_vectors,
                              broadcast,
                              pool<fbs::PoolKind::Max, false>,
                              pool<fbs::PoolKind::Average, false>,
                              pool<fbs::PoolKind::Average, true>,
                              mean_of_rows,
                              sum_of_channels,
                              resize<fbs::ResizeKind::Nearest>,
                              resize<fbs::ResizeKind::Bilinear>,
                              resize<fbs::ResizeKind::Bicubic>,
                              upscaled,
                              softmax,
                              concat<1>,
                              concat<3>,
                              pixel_shuffle,
                              transpose,
                              pad,
                              slice,
                              reshape,
                              layer_norm,
                              rms_norm,
                              grn,
                              group_norm,
                              attention,
                              attention_to_all,
                              product<false, false>,
                              product<true, true>,
                              deformed<false>,
                              deformed<true>,
                              mixture<fbs::ExpertsActivation::Silu>,
                              mixture<fbs::ExpertsActivation::GeluTanh>,
                              mixture<fbs::ExpertsActivation::ClampedSwish>,
                              mixture_of_bytes,
                              best_places,
                              smallest_values,
                              elements_of_rows,
                              updated_rows<fbs::ScatterKind::Set>,
                              updated_rows<fbs::ScatterKind::Add>,
                              updated_rows<fbs::ScatterKind::Mul>,
                              updated_rows<fbs::ScatterKind::Max>,
                              updated_rows<fbs::ScatterKind::Min>,
                              rotary_embedding<false>,
                              rotary_embedding<true>,
                              window_partition,
                              window_reverse};
  std::set<fbs::OpParams> compared;
  for (const Network& network : networks) expect_same(network, &compared);
  for (const fbs::UnaryKind kind : fbs::EnumValuesUnaryKind())
    if (kind <= fbs::UnaryKind::Log || (kind >= fbs::UnaryKind::Erf && kind <= fbs::UnaryKind::Cos))
      expect_same(
          [&](Graph& graph) {
            return unary(graph, input(graph, "x", {1, 9, 30, 22}), kind, -0.5, 0.25);
          },
          &compared);
  for (const fbs::BinaryKind kind : fbs::EnumValuesBinaryKind())
    if (kind <= fbs::BinaryKind::PRelu)
      expect_same(
          [&](Graph& graph) {
            return binary(graph, input(graph, "x", {3, 1, 10, 22}), input(graph, "y", {1, 9, 10, 1}), kind);
          },
          &compared);
#define FERRY_EXPECT_COMPARED(Type, ...) EXPECT_TRUE(compared.contains(fbs::OpParams::Type)) << #Type;
  FERRY_OPERATORS_ON_GPU(FERRY_EXPECT_COMPARED)
#undef FERRY_EXPECT_COMPARED
}

// An operator's output and its state, which is not empty before.
TEST(CanaryReference, MatchesTheOracleOnStates) {
  for (const Network& network : {Network(causal_conv), Network(delta_rule)}) {
    Graph graph;
    graph.add_output("y", network(graph), fbs::Layout::Same);
    std::vector<reference::State> states = reference::empty_states(graph);
    const std::vector<float> held = some(states[0].shape.bound, 7);
    states[0].values.assign(held.begin(), held.end());
    const std::vector<reference::State> before = states;
    const std::map<TensorId, reference::Array> values = reference::interpret(graph, inputs_of(graph), &states);
    const fbs::OperatorT& op = *graph.table.operators[0];
    std::vector<gpu::Array> operands;
    for (const TensorId input : op.inputs) operands.push_back(plain(values.at(input)));
    operands.push_back({before[0].shape.bound, held});
    std::vector<const gpu::Array*> pointers;
    for (const gpu::Array& operand : operands) pointers.push_back(&operand);
    const SerializedOp serialized(op);
    const reference::Array& y = values.at(op.outputs[0]);
    const reference::Array after{before[0].shape.bound, states[0].values};
    EXPECT_LE(error_of(gpu::compute_plainly(*serialized, pointers, y.shape), y), kOracleBound);
    EXPECT_LE(error_of(gpu::compute_plainly(*serialized, pointers, after.shape, gpu::kStateAfter), after),
              kOracleBound);
  }
}

}  // namespace
}  // namespace ferry::testing
