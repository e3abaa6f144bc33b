#include "converter/quantize/transposed_convolutions.h"

#include <algorithm>
#include <utility>

#include "converter/graph/elementary.h"
#include "converter/quantize/weights.h"
#include "sdk/operators/size_code.h"

namespace ferry::int8 {
namespace {

// Along one side. Output pixel `begin` + f of all pixels f that the operator reaches is in cell f / stride.
struct Side {
  int32_t kernel = 0;  // of the convolution
  int32_t pad_before = 0, pad_after = 0;
  int32_t begin = 0;     // the first pixel of the first cell that is kept
  int32_t left_out = 0;  // pixels of the last cell
};

std::optional<Side> side_of(int32_t input, int32_t output, int32_t kernel, int32_t stride, int32_t crop) {
  Side out;
  out.kernel = (kernel + stride - 1) / stride;
  const int32_t first = crop / stride, last = (crop + output - 1) / stride;
  out.pad_before = out.kernel - 1 - first;
  out.pad_after = last + 1 - input;
  out.begin = crop % stride;
  out.left_out = (last + 1) * stride - (crop + output);
  if (out.pad_before < 0 || out.pad_after < 0) return {};
  return out;
}

// Channel (row * stride + column) * O + o computes pixel (row, column) of a cell.
std::vector<double> cell_weights(std::span<const double> values, const Shape& w, int32_t stride, const Side& h,
                                 const Side& v) {
  std::vector<double> out;
  for (int32_t row = 0; row < stride; ++row)
    for (int32_t column = 0; column < stride; ++column)
      for (int32_t o = 0; o < w[0]; ++o)
        for (int32_t i = h.kernel - 1; i >= 0; --i)
          for (int32_t j = v.kernel - 1; j >= 0; --j) {
            const int64_t y = row + int64_t{stride} * i, x = column + int64_t{stride} * j;
            for (int32_t k = 0; k < w[3]; ++k)
              out.push_back(y < w[1] && x < w[2]
                                ? values[static_cast<size_t>(((o * int64_t{w[1]} + y) * w[2] + x) * w[3] + k)]
                                : 0.0);
          }
  return out;
}

class Rewriting {
 public:
  explicit Rewriting(Graph& graph) : graph_(graph), rounding_(graph.table.tensors.size(), TensorId::None) {
    PerTensor<bool> others(graph.table.tensors.size());
    for (const auto& op : graph.table.operators) {
      const auto* requantize = op->params.AsRequantize();
      for (const TensorId t : op->inputs)
        if (requantize != nullptr && requantize->to == fbs::DType::Int8)
          rounding_[t] = op->outputs.front();
        else
          others[t] = true;
    }
    for (const auto& port : graph.table.outputs) others[port->tensor] = true;
    for (size_t i = 0; i < graph.table.tensors.size(); ++i)
      if (others[tensor_at(i)]) rounding_[tensor_at(i)] = TensorId::None;
  }

  void run() {
    std::vector<std::unique_ptr<fbs::OperatorT>> operators = std::move(graph_.table.operators);
    graph_.table.operators.clear();
    for (auto& op : operators) {
      if (op->params.type == fbs::OpParams::ConvTranspose2d && rounding_[op->outputs.front()] != TensorId::None)
        rewrite(*op);
      graph_.table.operators.push_back(std::move(op));
    }
  }

 private:
  void rewrite(fbs::OperatorT& op) {
    const fbs::ConvTranspose2dT p = *op.params.AsConvTranspose2d();
    const TensorId x = op.inputs[0], weight = op.inputs[1];
    const Shape from = graph_.shape(x), w = graph_.shape(weight), to = graph_.shape(op.outputs[0]);
    const int32_t stride = p.stride_h;
    if (p.stride_w != stride || p.dilation_h != 1 || p.dilation_w != 1 || p.groups != 1) return;
    const auto h = side_of(from[1], to[1], w[1], stride, p.pad_top);
    const auto v = side_of(from[2], to[2], w[2], stride, p.pad_left);
    const std::vector<double> values = graph_.values(weight);
    if (!h || !v || !recover_integers(values, static_cast<size_t>(w[0]), {})) return;
    const int32_t channels = stride * stride * w[0];
    const std::string name = graph_.at(weight).name;
    std::vector<Tensor> inputs = {{&graph_, x},
                                  graph_.add_constant(name, Shape{channels, h->kernel, v->kernel, w[3]},
                                                      cell_weights(values, w, stride, *h, *v))};
    if (op.inputs.size() > 2) {
      const std::vector<double> bias = graph_.values(op.inputs[2]);
      std::vector<double> repeated;
      for (int32_t i = 0; i < channels; ++i) repeated.push_back(bias[static_cast<size_t>(i % w[0])]);
      inputs.push_back(graph_.add_constant(graph_.at(op.inputs[2]).name, Shape{channels}, std::move(repeated)));
    }
    fbs::Conv2dT convolution;
    convolution.pad_top = h->pad_before, convolution.pad_bottom = h->pad_after;
    convolution.pad_left = v->pad_before, convolution.pad_right = v->pad_after;
    convolution.output_min = p.output_min, convolution.output_max = p.output_max;
    // Moving what is rounded is moving integers.
    const Type type = graph_.type(rounding_[op.outputs[0]]);
    const Tensor cells =
        quantize_dequantize(graph_.add_op(op.name, convolution, inputs), type.float_scale, type.zero_point);
    fbs::PixelShuffleT shuffle;
    shuffle.factor = stride;
    if (h->begin == 0 && v->begin == 0 && h->left_out == 0 && v->left_out == 0) {
      op.params.Set(shuffle);
      op.inputs = {cells.id};
      return;
    }
    const Tensor pixels = graph_.add_op(op.name, shuffle, {cells});
    const auto size = [](int32_t left_out) { return left_out == 0 ? -1 : all_but(left_out); };
    fbs::SliceT slice;
    slice.begin = {0, h->begin, v->begin, 0};
    slice.size = {-1, size(h->left_out), size(v->left_out), -1};
    op.params.Set(std::move(slice));
    op.inputs = {pixels.id};
  }

  Graph& graph_;
  PerTensor<TensorId> rounding_;  // of values that only Requantize to Int8 reads: its output
};

}  // namespace

void transposed_as_convolutions(Graph& graph) { Rewriting(graph).run(); }

}  // namespace ferry::int8
