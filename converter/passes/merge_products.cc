#include <algorithm>

#include "converter/passes/pointwise.h"
#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// Whether it only rearranges positions and keeps the channels.
bool keeps_channels(const Graph& graph, const fbs::OperatorT& op) {
  if (!op.params.AsReshape()) return false;
  const Shape from = graph.shape(op.inputs.front()), to = graph.shape(op.outputs.front());
  return from.rank > 1 && to.rank > 1 && from[from.rank - 1] == to[to.rank - 1];
}

Tensor product_of(Graph& graph, TensorId first, TensorId second) {
  const Shape a = graph.shape(first), b = graph.shape(second);
  const auto in = static_cast<size_t>(a[a.rank - 1]), middle = static_cast<size_t>(a[0]);
  const auto out = static_cast<size_t>(b[0]);
  Shape like = a;
  like[0] = b[0];
  Constant constant;
  constant.size = out * in * sizeof(double);
  constant.compute = [one = later_values(graph, first), two = later_values(graph, second), in, middle, out] {
    const std::vector<double> x = one(), y = two();
    std::vector<double> product(out * in, 0.0);
    for (size_t o = 0; o < out; ++o)
      for (size_t m = 0; m < middle; ++m)
        for (size_t i = 0; i < in; ++i) product[o * in + i] += y[o * middle + m] * x[m * in + i];
    return hold(std::move(product));
  };
  return graph.add_constant(graph.at(second).name, fbs::DType::Float64, like, std::move(constant));
}

// The second's bias plus the second's product with the first's bias.
Tensor bias_of(Graph& graph, const fbs::OperatorT& first, const fbs::OperatorT& second) {
  const std::vector<double> weight = graph.values(second.inputs[1]);
  const auto out = static_cast<size_t>(graph.shape(second.inputs[1])[0]);
  std::vector<double> bias(out, 0.0);
  if (second.inputs.size() > 2) bias = graph.values(second.inputs[2]);
  if (first.inputs.size() > 2) {
    const std::vector<double> before = graph.values(first.inputs[2]);
    for (size_t o = 0; o < out; ++o)
      for (size_t m = 0; m < before.size(); ++m) bias[o] += weight[o * before.size() + m] * before[m];
  }
  const std::string name = second.inputs.size() > 2 ? graph.at(second.inputs[2]).name : second.name + ".bias";
  return graph.add_constant(name, Shape{static_cast<int32_t>(out)}, std::move(bias));
}

}  // namespace

void merge_products(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  auto& ops = graph.table.operators;
  for (size_t i = 0; i < ops.size(); ++i) {
    fbs::OperatorT* const op = ops[i].get();
    if (op->outputs.empty() || !is_pointwise(graph, *op)) continue;
    const TensorId between = op->inputs.front();
    fbs::OperatorT *reshape = rewriter.producer(between), *first = reshape;
    if (!first || rewriter.only_reader(between) != op) continue;
    if (keeps_channels(graph, *reshape)) {
      first = rewriter.producer(reshape->inputs.front());
      if (!first || rewriter.only_reader(reshape->inputs.front()) != reshape) continue;
    }
    if (!is_pointwise(graph, *first)) continue;
    const Shape a = graph.shape(first->inputs[1]), b = graph.shape(op->inputs[1]);
    const int64_t in = a[a.rank - 1], middle = a[0], out = b[0];
    if (in * out >= middle * (in + out)) continue;

    std::vector<Tensor> inputs = {{&graph, first->inputs.front()}, product_of(graph, first->inputs[1], op->inputs[1])};
    if (first->inputs.size() > 2 || op->inputs.size() > 2) inputs.push_back(bias_of(graph, *first, *op));
    if (first == reshape) {
      rewriter.replace(op, fbs::OpParamsUnion(first->params), inputs);
      rewriter.remove(first);
      continue;
    }
    const auto* linear = first->params.AsLinear();
    const Tensor product =
        linear ? graph.add_op(op->name, *linear, inputs) : graph.add_op(op->name, *first->params.AsConv2d(), inputs);
    fbs::ReshapeT shape = *reshape->params.AsReshape();
    if (shape.shape.back() > 0) shape.shape.back() = static_cast<int32_t>(out);
    std::vector<Tensor> shaped = {product};
    for (size_t k = 1; k < reshape->inputs.size(); ++k) shaped.push_back({&graph, reshape->inputs[k]});
    fbs::OpParamsUnion params;
    params.Set(std::move(shape));
    rewriter.replace(op, std::move(params), shaped);
    rewriter.remove(reshape);
    rewriter.remove(first);
    // Moves the product from the end to before its reader.
    std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(i), ops.end() - 1, ops.end());
    ++i;
  }
  rewriter.finish();
}

}  // namespace ferry
