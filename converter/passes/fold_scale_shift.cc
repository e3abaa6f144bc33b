#include "converter/passes/affine.h"
#include "converter/passes/rewriter.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {
namespace {

void absorb_after(Graph& graph, Rewriter& rewriter, fbs::OperatorT* op, const Affine& affine) {
  const TensorId weight = op->inputs[1];
  const Shape shape = graph.shape(weight);
  const std::string weight_name = graph.at(weight).name;
  bool scaled = false;
  for (double s : affine.scale) scaled = scaled || s != 1;
  if (scaled) {
    // Scaled on demand, when written: the graph holds the scales only.
    Constant product;
    product.size = static_cast<size_t>(shape.elements()) * sizeof(double);
    product.compute = [source = graph.source(weight), dtype = graph.at(weight).dtype, weight_name,
                       scale = affine.scale] {
      std::vector<double> values = values_of(source, dtype, weight_name);
      if (source.done) source.done();
      const size_t row = values.size() / scale.size();
      for (size_t i = 0; i < values.size(); ++i) values[i] *= scale[i / row];
      return hold(std::move(values));
    };
    rewriter.set_input(op, 1, graph.add_constant(weight_name, fbs::DType::Float64, shape, std::move(product)));
  }
  std::vector<double> bias(affine.shift.size(), 0.0);
  if (op->inputs.size() > 2) bias = graph.values(op->inputs[2]);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * affine.scale[i] + affine.shift[i];
  const std::string bias_name = op->inputs.size() > 2 ? graph.at(op->inputs[2]).name : op->name + ".bias";
  rewriter.set_input(op, 2, graph.add_constant(bias_name, {shape[0]}, std::move(bias)));
}

}  // namespace

void fold_scale_shift(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    if (op->outputs.empty() || !op->params.AsBinary()) continue;
    for (size_t variable = 0; variable < 2; ++variable) {
      const TensorId between = op->inputs[variable];
      fbs::OperatorT* producer = rewriter.producer(between);
      if (!producer || rewriter.only_reader(between) != op.get()) continue;
      if (!has_weight(producer->params.type)) continue;
      const Clamp clamp = clamp_of(*producer), after = clamp_of(*op);
      // A deformable convolution has no clamp.
      if (clamp.low != nullptr ? clamps(*clamp.low, *clamp.high) : after.low && clamps(*after.low, *after.high))
        continue;
      if (!graph.is_constant(producer->inputs[1]) ||
          (producer->inputs.size() > 2 && !graph.is_constant(producer->inputs[2])))
        continue;
      const std::optional<Affine> affine = as_affine(graph, *op, variable);
      if (!affine) continue;
      absorb_after(graph, rewriter, producer, *affine);
      if (clamp.low != nullptr) {
        *clamp.low = op->params.AsBinary()->output_min;
        *clamp.high = op->params.AsBinary()->output_max;
      }
      rewriter.take_over(producer, op.get());
      break;
    }
  }
  rewriter.finish();
}

}  // namespace ferry
