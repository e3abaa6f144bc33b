#include "converter/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "converter/graph/float16.h"
#include "sdk/model/elements.h"
#include "sdk/operators/pointwise.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {
namespace {

constexpr int64_t kSmall = 4096;
constexpr int kShortRow = 32;
constexpr double kMinScale = std::numeric_limits<float>::min();  // kernels need normal numbers

std::vector<double> finite_values(const Graph& graph, const fbs::TensorT& constant) {
  std::vector<double> values = values_of(graph.buffer(constant.buffer), constant.dtype, constant.name);
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      fail("constant '%s': element %zu is %g, which no integer represents", constant.name.c_str(), i, values[i]);
  return values;
}

double absmax(std::span<const double> values) {
  double largest = 0;
  for (double v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

int nearest(double value, double scale, int low, int high) {
  // Adding this number leaves no bits below 1: rounds to nearest even, without a call.
  constexpr double kRound = 0x1.8p52;
  const double clamped = std::clamp(value / scale, static_cast<double>(low), static_cast<double>(high));
  return static_cast<int>((clamped + kRound) - kRound);
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

// How the operators of all graphs use a buffer.
struct Use {
  std::vector<int32_t> shape;
  bool weight = false;   // as a weight that may be quantized
  bool last = false;     // likewise, and no other weight multiplies the result
  bool other = false;    // other uses than gathers of slices
  bool stacked = false;  // a stack of matrices
};

bool takes_integers(const fbs::OperatorT& op, size_t input, const Shape& shape) {
  if (op.params.type == fbs::OpParams::Experts) return is_weight(op.params.type, static_cast<unsigned>(input));
  if (input != 1) return false;
  if (op.params.type != fbs::OpParams::Conv2d) return op.params.type == fbs::OpParams::Linear;
  const SerializedOp serialized(op);
  return is_pointwise(*(*serialized).params_as_Conv2d(), shape);
}

Shape shape_of(const std::vector<int32_t>& dims) {
  Shape shape;
  for (int32_t d : dims) shape[shape.rank++] = d;
  return shape;
}

// By buffer.
std::map<uint32_t, Use> uses_of(const fbs::GraphT& root) {
  std::map<uint32_t, Use> uses;
  for (const fbs::GraphT* graph : tables_of(root)) {
    PerTensor<bool> followed(graph->tensors.size());  // reaches another weight
    for (auto it = graph->operators.rbegin(); it != graph->operators.rend(); ++it) {
      const fbs::OperatorT& op = **it;
      const bool stacked = op.params.type == fbs::OpParams::Experts;
      bool after = false;
      for (TensorId output : op.outputs) after = after || followed[output];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const TensorId tensor = op.inputs[i];
        if (after || has_weight(op.params.type) || stacked) followed[tensor] = true;
        const fbs::TensorT& t = *graph->tensors[index_of(tensor)];
        if (t.buffer == 0) continue;
        Use& use = uses.emplace(t.buffer, Use{.shape = t.shape}).first->second;
        const bool takes = t.shape == use.shape && takes_integers(op, i, shape_of(t.shape));
        const fbs::GatherT* gather = op.params.AsGather();
        const bool looks_up = i == 0 && gather != nullptr && gather->kind == fbs::GatherKind::Slices;
        if (!looks_up) (takes ? use.weight : use.other) = true;
        use.last = use.last || (takes && !after);
        use.stacked = use.stacked || stacked;
      }
    }
  }
  return uses;
}

bool is_float(const fbs::TensorT& t) {
  return t.dtype == fbs::DType::Float64 || t.dtype == fbs::DType::Float32 || t.dtype == fbs::DType::Float16 ||
         t.dtype == fbs::DType::BFloat16;
}

}  // namespace

void quantize_to_int8(Graph& graph, const fbs::TensorT& constant, int block) {
  const std::vector<double> values = finite_values(graph, constant);
  const size_t rows = block > 0 ? values.size() / static_cast<size_t>(block) : static_cast<size_t>(constant.shape[0]);
  const size_t width = values.size() / rows;
  std::vector<float> scales(rows);
  std::vector<uint16_t> halves;
  std::vector<int8_t> integers(values.size());
  for (size_t row = 0; row < rows; ++row) {
    const double largest = absmax(std::span(values).subspan(row * width, width));
    scales[row] = largest > 0 ? static_cast<float>(std::max(largest / 127, kMinScale)) : 1.0f;
    if (block > 0) scales[row] = from_bfloat16(halves.emplace_back(to_bfloat16(static_cast<double>(scales[row]))));
    for (size_t i = row * width; i < (row + 1) * width; ++i)
      integers[i] = static_cast<int8_t>(nearest(values[i], static_cast<double>(scales[row]), -127, 127));
  }
  graph.store_integers(constant.buffer, {.dtype = fbs::DType::Int8, .block = block}, hold(std::move(integers)),
                       block > 0 ? hold(std::move(halves)) : hold(std::move(scales)));
}

void quantize_to_int8(Graph& graph, const fbs::TensorT& constant) { quantize_to_int8(graph, constant, 0); }

void quantize_to_int4(Graph& graph, const fbs::TensorT& constant) {
  const std::vector<double> values = finite_values(graph, constant);
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
  graph.store_integers(constant.buffer, {.dtype = fbs::DType::Int4, .block = kInt4Block}, hold(std::move(nibbles)),
                       hold(std::move(scales)));
}

void quantize_weights(Graph& graph, WeightBits bits) {
  const std::map<uint32_t, Use> uses = uses_of(graph.table);
  for (const fbs::GraphT* table : tables_of(graph.table)) {
    for (size_t i = 0, count = table->tensors.size(); i < count; ++i) {
      const fbs::TensorT& constant = *table->tensors[i];
      const auto use = uses.find(constant.buffer);
      if (use == uses.end() || !use->second.weight || use->second.other || !is_float(constant)) continue;
      const Shape shape = shape_of(constant.shape);
      const int32_t row = shape[shape.rank - 1];
      if (shape.elements() < kSmall || row < kShortRow) continue;
      const bool four = bits == WeightBits::Four && row % kInt4Block == 0 && !use->second.last;
      const int block = !use->second.stacked ? 0 : row % kInt4Block == 0 ? kInt4Block : row;
      four ? quantize_to_int4(graph, constant) : quantize_to_int8(graph, constant, block);
    }
  }
}

}  // namespace ferry
