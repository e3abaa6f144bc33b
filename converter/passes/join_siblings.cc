#include <algorithm>
#include <tuple>

#include "converter/graph/ops.h"
#include "converter/passes/pointwise.h"
#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

using Siblings = std::vector<fbs::OperatorT*>;

constexpr int kKernelOutputs =
    16;  // approximate number of outputs that a kernel computes at once; fewer leave lanes unused

bool is_conv(const Graph& graph, const fbs::OperatorT& op) { return op.params.AsConv2d() && by_constants(graph, op); }

bool is_narrow_pointwise(const Graph& graph, const fbs::OperatorT& op) {
  if (!is_conv(graph, op) || op.params.AsConv2d()->groups != 1) return false;
  const Shape weight = graph.shape(op.inputs[1]);
  return weight[0] < kKernelOutputs && weight[1] == 1 && weight[2] == 1;
}

// The depthwise convolution with multiplier 1 that is the only reader of `op`'s output; else null.
fbs::OperatorT* depthwise_after(const Graph& graph, const Rewriter& rewriter, const fbs::OperatorT& op) {
  fbs::OperatorT* const reader = rewriter.only_reader(op.outputs.front());
  if (!reader || !is_conv(graph, *reader)) return nullptr;
  const Shape weight = graph.shape(reader->inputs[1]);
  const int channels = graph.shape(op.inputs[1])[0];
  return reader->params.AsConv2d()->groups == channels && weight[0] == channels ? reader : nullptr;
}

// Whether they differ only in outputs and constants.
bool alike(const Graph& graph, const fbs::OperatorT& a, const fbs::OperatorT& b) {
  const auto settings = [&](const fbs::OperatorT& op) {
    const fbs::Conv2dT& p = *op.params.AsConv2d();
    const Shape weight = graph.shape(op.inputs[1]);
    return std::tuple(p.stride_h, p.stride_w, p.dilation_h, p.dilation_w, p.pad_top, p.pad_left, p.pad_bottom,
                      p.pad_right, p.output_min, p.output_max, weight[1], weight[2]);
  };
  return settings(a) == settings(b);
}

// Concatenates the weights (input 1) or biases (input 2); missing biases are zeros.
Tensor join_constants(Graph& graph, const Siblings& siblings, size_t input) {
  const auto has_it =
      std::find_if(siblings.begin(), siblings.end(), [&](auto* op) { return op->inputs.size() > input; });
  const TensorId first = (*has_it)->inputs[input];
  Shape shape = graph.shape(first);
  const int64_t row = shape.elements() / shape[0];
  shape[0] = 0;
  std::vector<std::function<std::vector<double>()>> parts;
  for (const fbs::OperatorT* op : siblings) {
    const int outputs = graph.shape(op->inputs[1])[0];
    shape[0] += outputs;
    if (op->inputs.size() > input)
      parts.push_back(later_values(graph, op->inputs[input]));
    else
      parts.push_back([count = static_cast<size_t>(outputs * row)] { return std::vector<double>(count, 0.0); });
  }
  Constant constant;
  constant.size = static_cast<size_t>(shape.elements()) * sizeof(double);
  constant.compute = [parts = std::move(parts)] {
    std::vector<double> all;
    for (const auto& part : parts) {
      const std::vector<double> values = part();
      all.insert(all.end(), values.begin(), values.end());
    }
    return hold(std::move(all));
  };
  return graph.add_constant(graph.at(first).name, fbs::DType::Float64, shape, std::move(constant));
}

Tensor join(Graph& graph, const Siblings& siblings, Tensor x) {
  fbs::Conv2dT params = *siblings.front()->params.AsConv2d();
  std::vector<Tensor> inputs = {x, join_constants(graph, siblings, 1)};
  if (std::any_of(siblings.begin(), siblings.end(), [](const auto* op) { return op->inputs.size() > 2; }))
    inputs.push_back(join_constants(graph, siblings, 2));
  const Shape weight = graph.shape(inputs[1].id);
  if (weight[3] != channels(x)) params.groups = weight[0];  // depthwise
  return graph.add_op(siblings.front()->name, params, inputs);
}

}  // namespace

void join_siblings(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  auto& ops = graph.table.operators;
  for (size_t i = 0; i < ops.size(); ++i) {
    const fbs::OperatorT& first = *ops[i];
    if (first.outputs.empty() || !is_narrow_pointwise(graph, first)) continue;
    Siblings siblings, after;
    for (size_t k = i; k < ops.size(); ++k) {
      fbs::OperatorT* const op = ops[k].get();
      if (op->outputs.empty() || !is_narrow_pointwise(graph, *op) || op->inputs.front() != first.inputs.front() ||
          !alike(graph, first, *op))
        continue;
      siblings.push_back(op);
      fbs::OperatorT* const next = depthwise_after(graph, rewriter, *op);
      if (next && (after.empty() || alike(graph, *after.front(), *next))) after.push_back(next);
    }
    if (siblings.size() == 1) continue;

    const size_t before = ops.size();
    Tensor all = join(graph, siblings, {&graph, first.inputs.front()});
    const bool both = after.size() == siblings.size();
    if (both) all = join(graph, after, all);
    int begin = 0;
    for (fbs::OperatorT* op : both ? after : siblings) {
      const int outputs = graph.shape(op->inputs[1])[0];
      fbs::SliceT slice;
      slice.begin = {0, 0, 0, begin};
      slice.size = {-1, -1, -1, outputs};
      begin += outputs;
      fbs::OpParamsUnion params;
      params.Set(std::move(slice));
      rewriter.replace(op, std::move(params), {all});
    }
    if (both)
      for (fbs::OperatorT* op : siblings) rewriter.remove(op);
    // Moves the new operators from the end to before their first reader.
    std::rotate(ops.begin() + static_cast<ptrdiff_t>(i), ops.begin() + static_cast<ptrdiff_t>(before), ops.end());
    i += ops.size() - before;
  }
  rewriter.finish();
}

}  // namespace ferry
