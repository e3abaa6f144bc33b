#include "converter/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "converter/graph/halves.h"
#include "sdk/model/numbers.h"
#include "sdk/operators/pointwise.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {
namespace {

constexpr int64_t kSmall = 4096;
constexpr int kShortRow = 32;
constexpr double kMinScale = std::numeric_limits<float>::min();  // kernels want normal numbers

std::vector<double> finite_values(const Graph& graph, int tensor) {
  std::vector<double> values = graph.values(tensor);
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      fail("constant '%s': element %zu is %g, which no integer stands for", graph.at(tensor).name.c_str(), i,
           values[i]);
  return values;
}

double absmax(std::span<const double> values) {
  double largest = 0;
  for (double v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

int nearest(double value, double scale, int low, int high) {
  return static_cast<int>(
      std::clamp(std::nearbyint(value / scale), static_cast<double>(low), static_cast<double>(high)));
}

constexpr int kLow = -8, kHigh = 7;

double squared_error(std::span<const double> block, double scale) {
  double sum = 0;
  for (double v : block) {
    const double difference = v - nearest(v, scale, kLow, kHigh) * scale;
    sum += difference * difference;
  }
  return sum;
}

uint16_t best_scale(std::span<const double> block) {
  const double largest = absmax(block);
  uint16_t best = to_bfloat16(1);
  double smallest = std::numeric_limits<double>::infinity();
  for (double steps = 6; largest > 0 && steps <= 9; steps += 0.25) {
    const uint16_t scale = to_bfloat16(std::max(largest / steps, kMinScale));
    const double error = squared_error(block, static_cast<double>(from_bfloat16(scale)));
    if (error < smallest) smallest = error, best = scale;
  }
  return best;
}

std::string scale_name(const Graph& graph, int tensor) { return graph.at(tensor).name + ".scale"; }

// By tensor: is its constant the weight of operators that can take integers, and nothing else?
std::vector<bool> candidates(const Graph& graph) {
  std::vector<bool> weight(graph.table.tensors.size()), other(graph.table.tensors.size());
  for (const auto& op : graph.table.operators) {
    const fbs::Conv2dT* convolution = op->params.AsConv2d();
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const int tensor = op->inputs[i];
      bool takes = i == 1 && op->params.type == fbs::OpParams::Linear;
      if (i == 1 && convolution != nullptr) {
        const SerializedOp serialized(*op);
        takes = is_pointwise(*(*serialized).params_as_Conv2d(), graph.shape(tensor));
      }
      (takes ? weight : other)[static_cast<size_t>(tensor)] = true;
    }
  }
  for (size_t i = 0; i < weight.size(); ++i) {
    const int tensor = static_cast<int>(i);
    const Shape shape = graph.shape(tensor);
    weight[i] = weight[i] && !other[i] && graph.is_constant(tensor) && graph.dtype(tensor) == fbs::DType::Float32 &&
                shape.elements() >= kSmall && shape[shape.rank - 1] >= kShortRow;
  }
  return weight;
}

// The weights whose results lead to no other weight.
std::set<int> last_weights(const Graph& graph) {
  std::vector<bool> followed(graph.table.tensors.size());  // by a weight, somewhere
  std::set<int> last;
  for (auto it = graph.table.operators.rbegin(); it != graph.table.operators.rend(); ++it) {
    const fbs::OperatorT& op = **it;
    bool after = false;
    for (int output : op.outputs) after = after || followed[static_cast<size_t>(output)];
    const bool weighted = has_weight(op.params.type);
    if (weighted && !after) last.insert(op.inputs[1]);
    for (int input : op.inputs) {
      if (after || weighted) followed[static_cast<size_t>(input)] = true;
    }
  }
  return last;
}

}  // namespace

void quantize_to_int8(Graph& graph, int tensor) {
  const std::vector<double> values = finite_values(graph, tensor);
  const size_t rows = static_cast<size_t>(graph.shape(tensor)[0]), width = values.size() / rows;
  std::vector<float> scales(rows);
  std::vector<int8_t> integers(values.size());
  for (size_t row = 0; row < rows; ++row) {
    const double largest = absmax(std::span(values).subspan(row * width, width));
    scales[row] = largest > 0 ? static_cast<float>(std::max(largest / 127, kMinScale)) : 1.0f;
    for (size_t i = row * width; i < (row + 1) * width; ++i)
      integers[i] = static_cast<int8_t>(nearest(values[i], static_cast<double>(scales[row]), -127, 127));
  }
  const Tensor scale = graph.add_constant(scale_name(graph, tensor), {static_cast<int32_t>(rows)}, std::move(scales));
  graph.store_constant(tensor, {fbs::DType::Int8, true, static_cast<uint32_t>(scale.index)}, hold(std::move(integers)));
}

void quantize_to_int4(Graph& graph, int tensor) {
  const std::vector<double> values = finite_values(graph, tensor);
  std::vector<uint16_t> scales;
  std::vector<uint8_t> nibbles(values.size() / 2);
  for (size_t begin = 0; begin < values.size(); begin += kInt4Block) {
    scales.push_back(best_scale(std::span(values).subspan(begin, kInt4Block)));
    const double scale = static_cast<double>(from_bfloat16(scales.back()));
    for (size_t i = begin; i < begin + kInt4Block; ++i) {
      const auto nibble = static_cast<unsigned>(nearest(values[i], scale, kLow, kHigh)) & 15u;
      nibbles[i / 2] = static_cast<uint8_t>(nibbles[i / 2] | nibble << (i % 2 * 4));
    }
  }
  Shape blocks = graph.shape(tensor);
  blocks[blocks.rank - 1] /= kInt4Block;
  const Tensor scale =
      graph.add_constant(scale_name(graph, tensor), fbs::DType::BFloat16, blocks, hold(std::move(scales)));
  graph.store_constant(
      tensor,
      {.dtype = fbs::DType::Int4, .quantized = true, .scale = static_cast<uint32_t>(scale.index), .block = kInt4Block},
      hold(std::move(nibbles)));
}

void quantize_weights(Graph& graph, WeightBits bits) {
  const std::vector<bool> weights = candidates(graph);
  const std::set<int> last = last_weights(graph);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i]) continue;
    const int tensor = static_cast<int>(i);
    const Shape shape = graph.shape(tensor);
    const bool four = bits == WeightBits::Four && shape[shape.rank - 1] % kInt4Block == 0 && !last.contains(tensor);
    four ? quantize_to_int4(graph, tensor) : quantize_to_int8(graph, tensor);
  }
}

}  // namespace ferry
