#include <algorithm>

#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// A convolution over an upsampled map.
struct Upsampled {
  fbs::OperatorT* resize;
  int scale, kernel_h, kernel_w;
};

bool find(const Graph& graph, const Rewriter& rewriter, const fbs::OperatorT& op, Upsampled* found) {
  const fbs::Conv2dT* conv = op.params.AsConv2d();
  if (!conv || !graph.is_constant(op.inputs[1]) || (op.inputs.size() > 2 && !graph.is_constant(op.inputs[2])))
    return false;
  fbs::OperatorT* resize = rewriter.producer(op.inputs[0]);
  const fbs::Resize2dT* upscale = resize ? resize->params.AsResize2d() : nullptr;
  if (!upscale || upscale->kind != fbs::ResizeKind::Nearest || upscale->scale_h != upscale->scale_w ||
      upscale->scale_h < 2 || rewriter.only_reader(op.inputs[0]) != &op)
    return false;
  const Shape weight = graph.shape(op.inputs[1]);
  *found = {resize, upscale->scale_h, weight[1], weight[2]};
  const int pad_h = weight[1] / 2, pad_w = weight[2] / 2;
  return weight[1] % 2 == 1 && weight[2] % 2 == 1 && conv->stride_h == 1 && conv->stride_w == 1 &&
         conv->dilation_h == 1 && conv->dilation_w == 1 && conv->groups == 1 && conv->pad_top == pad_h &&
         conv->pad_bottom == pad_h && conv->pad_left == pad_w && conv->pad_right == pad_w;
}

int floor_divide(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// How many rows (or columns) of the small map a kernel reaches from its centre.
int reach(int kernel, int scale) { return (kernel / 2 + scale - 1) / scale; }

// A kernel for each of the scale x scale positions in a cell, in depth_to_space's order. Row k of the large kernel at
// position i reads row floor((i + k - kernel / 2) / scale) of the small map; rows that read the same one are added.
Tensor merge_weight(Graph& graph, TensorId constant, const Upsampled& u) {
  const Shape from = graph.shape(constant);
  const int out = from[0], in = from[3];
  const int reach_h = reach(u.kernel_h, u.scale), reach_w = reach(u.kernel_w, u.scale);
  const Shape to{u.scale * u.scale * out, 2 * reach_h + 1, 2 * reach_w + 1, in};
  const std::vector<double> source = graph.values(constant);
  std::vector<double> merged(static_cast<size_t>(to.elements()), 0.0);
  const double* s = source.data();
  for (int o = 0; o < out; ++o)
    for (int kh = 0; kh < u.kernel_h; ++kh)
      for (int kw = 0; kw < u.kernel_w; ++kw, s += in)
        for (int i = 0; i < u.scale; ++i)
          for (int j = 0; j < u.scale; ++j) {
            const int row = floor_divide(i + kh - u.kernel_h / 2, u.scale) + reach_h;
            const int column = floor_divide(j + kw - u.kernel_w / 2, u.scale) + reach_w;
            const int channel = (i * u.scale + j) * out + o;
            double* d = &merged[static_cast<size_t>(((channel * to[1] + row) * to[2] + column) * in)];
            for (int c = 0; c < in; ++c) d[c] += s[c];
          }
  const std::string name = graph.at(constant).name;
  return graph.add_constant(name, to, std::move(merged));
}

Tensor repeat_bias(Graph& graph, TensorId constant, int times) {
  const std::vector<double> source = graph.values(constant);
  std::vector<double> repeated;
  for (int i = 0; i < times; ++i) repeated.insert(repeated.end(), source.begin(), source.end());
  const Shape shape{static_cast<int32_t>(repeated.size())};
  const std::string name = graph.at(constant).name;
  return graph.add_constant(name, shape, std::move(repeated));
}

}  // namespace

// Exact at borders, too: a position beyond the large map's edge is beyond the small map's edge, and both are zero
// there.
void absorb_upsampling(Graph& graph, const PassOptions& options) {
  const Rewriter rewriter(graph, options);
  auto& ops = graph.table.operators;
  for (size_t i = 0; i < ops.size(); ++i) {
    fbs::OperatorT* op = ops[i].get();
    Upsampled u;
    if (!find(graph, rewriter, *op, &u)) continue;
    fbs::Conv2dT conv = *op->params.AsConv2d();
    conv.pad_top = conv.pad_bottom = reach(u.kernel_h, u.scale);
    conv.pad_left = conv.pad_right = reach(u.kernel_w, u.scale);
    std::vector<Tensor> inputs = {{&graph, u.resize->inputs[0]}, merge_weight(graph, op->inputs[1], u)};
    if (op->inputs.size() > 2) inputs.push_back(repeat_bias(graph, op->inputs[2], u.scale * u.scale));
    const Tensor small = graph.add_op(op->name, conv, inputs);
    fbs::PixelShuffleT shuffle;
    shuffle.factor = u.scale;
    op->params.Set(std::move(shuffle));
    op->inputs = {small.id};
    // Moves the new convolution from the end to before its reader.
    std::rotate(ops.begin() + static_cast<ptrdiff_t>(i), ops.end() - 1, ops.end());
    ++i;
  }
}

}  // namespace ferry
