#include "converter/quantize/equalise.h"

#include <algorithm>
#include <cmath>

#include "converter/quantize/plan.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

// A channel that is almost silent on the calibration images may be loud on others: its factor is limited.
constexpr double kMinFactor = 1.0 / 16;

// Whether the layer's activation commutes with positive factors.
bool is_homogeneous(const fbs::OperatorT& op) {
  float low = 0, high = 0;
  if (const fbs::Conv2dT* conv = op.params.AsConv2d())
    low = conv->output_min, high = conv->output_max;
  else if (const fbs::LinearT* linear = op.params.AsLinear())
    low = linear->output_min, high = linear->output_max;
  else
    return false;
  return (low == 0 || low == -INFINITY) && high == INFINITY;
}

// Number of inputs and outputs of operators and graph that read each tensor.
PerTensor<size_t> readers_of(const Graph& graph) {
  PerTensor<size_t> out(graph.table.tensors.size());
  for (const auto& op : graph.table.operators)
    for (const TensorId t : op->inputs) ++out[t];
  for (const auto& output : graph.table.outputs) ++out[output->tensor];
  return out;
}

// The factors of the channels of an activation, at most 1: the largest channel keeps its range, the others reach it.
// `largest`: absolute maximum of each channel.
std::vector<double> factors_of(std::span<const float> largest) {
  const double most = static_cast<double>(*std::max_element(largest.begin(), largest.end()));
  std::vector<double> out;
  for (const float r : largest) out.push_back(std::max(static_cast<double>(r) / most, kMinFactor));
  return out;
}

// Multiplies the rows of a constant, one per channel.
void scale_rows(Graph& graph, TensorId constant, std::span<const double> factors) {
  std::vector<double> values = graph.values(constant);
  const size_t row = values.size() / factors.size();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i / row];
  graph.make_constant(constant, std::move(values));
}

}  // namespace

std::unique_ptr<Graph> equalised(Graph& graph, const Distributions& distributions) {
  std::unique_ptr<Graph> out = graph.copy();
  const PerTensor<size_t> readers = readers_of(graph), producers = producers_of(graph);
  bool any = false;
  for (const auto& second : out->table.operators) {
    const fbs::Conv2dT* depthwise = second->params.AsConv2d();
    if (depthwise == nullptr || graph.shape(second->inputs[1])[0] != depthwise->groups) continue;
    const TensorId t = second->inputs[0];
    if (producers[t] == out->table.operators.size() || readers[t] != 1) continue;
    const fbs::OperatorT& first = *out->table.operators[producers[t]];
    const Distribution& d = distributions[t];
    if (!is_homogeneous(first) || !d.finite || d.max <= d.min) continue;
    if (d.channel_max.size() != static_cast<size_t>(depthwise->groups)) continue;
    // A constant of several layers must not change for one of them.
    const auto own = [&](TensorId constant) { return readers[constant] == 1; };
    if (!std::all_of(first.inputs.begin() + 1, first.inputs.end(), own) || !own(second->inputs[1])) continue;
    std::vector<double> factors = factors_of(d.channel_max);
    scale_rows(*out, second->inputs[1], factors);
    for (double& factor : factors) factor = 1 / factor;
    for (auto input = first.inputs.begin() + 1; input != first.inputs.end(); ++input) scale_rows(*out, *input, factors);
    std::erase_if(out->table.taps, [t](const auto& tap) { return tap->tensor == t; });
    any = true;
  }
  return any ? std::move(out) : nullptr;
}

}  // namespace ferry::int8
