#include <algorithm>
#include <numeric>

#include "converter/passes/affine.h"
#include "converter/passes/rewriter.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {
namespace {

// The constant with the elements of each index of the first dimension multiplied: computed on demand, in parts if the
// constant is, so that the graph holds the scales only.
Constant multiplied(const Constant& source, fbs::DType dtype, const std::string& name, const std::vector<double>& scale,
                    size_t count) {
  const size_t from = bits_of(dtype) / 8, row = count / scale.size();
  const auto values = [source, dtype, name, scale, from, row](size_t first, size_t elements) {
    const Constant part = source.read_part(first * from, elements * from);
    std::vector<double> out = values_of({.owner = part.owner, .bytes = part.bytes}, dtype, name);
    if (part.done) part.done();
    for (size_t i = 0; i < out.size();) {
      const size_t channel = (first + i) / row;
      for (const size_t end = std::min(out.size(), (channel + 1) * row - first); i < end; ++i) out[i] *= scale[channel];
    }
    return hold(std::move(out));
  };
  Constant product;
  product.size = count * sizeof(double);
  product.compute = [values, count] { return values(0, count); };
  if (source.compute && !source.compute_part) return product;
  product.part_unit = std::lcm(std::max<size_t>(source.part_unit, 1), from) / from * sizeof(double);
  product.compute_part = [values](size_t begin, size_t bytes) {
    return values(begin / sizeof(double), bytes / sizeof(double));
  };
  return product;
}

void absorb_after(Graph& graph, Rewriter& rewriter, fbs::OperatorT* op, const Affine& affine) {
  const TensorId weight = op->inputs[1];
  const Shape shape = graph.shape(weight);
  const std::string weight_name = graph.at(weight).name;
  bool scaled = false;
  for (double s : affine.scale) scaled = scaled || s != 1;
  if (scaled) {
    Constant product = multiplied(graph.source(weight), graph.at(weight).dtype, weight_name, affine.scale,
                                  static_cast<size_t>(shape.elements()));
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
