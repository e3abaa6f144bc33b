#include "converter/passes/pointwise.h"

#include "converter/passes/affine.h"
#include "converter/passes/rewriter.h"

namespace ferry {

bool is_pointwise(const Graph& graph, const fbs::OperatorT& op) {
  if (const auto* conv = op.params.AsConv2d()) {
    const Shape weight = graph.shape(op.inputs[1]);
    if (weight[1] != 1 || weight[2] != 1 || conv->stride_h != 1 || conv->stride_w != 1 || conv->groups != 1 ||
        conv->pad_top != 0 || conv->pad_left != 0 || conv->pad_bottom != 0 || conv->pad_right != 0 ||
        clamps(conv->output_min, conv->output_max))
      return false;
  } else if (const auto* linear = op.params.AsLinear()) {
    if (clamps(linear->output_min, linear->output_max)) return false;
  } else {
    return false;
  }
  return by_constants(graph, op);
}

Tensor pointwise_weight(Graph& graph, TensorId like, int inputs, std::function<std::vector<double>()> values) {
  Shape shape = graph.shape(like);
  shape[shape.rank - 1] = inputs;
  Constant constant;
  constant.size = static_cast<size_t>(shape.elements()) * sizeof(double);
  constant.compute = [values = std::move(values)] { return hold(values()); };
  return graph.add_constant(graph.at(like).name, fbs::DType::Float64, shape, std::move(constant));
}

std::function<std::vector<double>()> later_values(const Graph& graph, TensorId constant) {
  return [source = graph.source(constant), dtype = graph.at(constant).dtype, name = graph.at(constant).name] {
    std::vector<double> values = values_of(source, dtype, name);
    if (source.done) source.done();
    return values;
  };
}

}  // namespace ferry
