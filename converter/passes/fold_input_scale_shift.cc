#include "converter/passes/affine.h"
#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// Padding is zero before the affine map and `shift` after it, so only unpadded kernels are equivalent.
bool unpadded(const fbs::OperatorT& op) {
  if (op.params.AsLinear()) return true;
  const auto* conv = op.params.AsConv2d();
  return conv && conv->pad_top == 0 && conv->pad_left == 0 && conv->pad_bottom == 0 && conv->pad_right == 0;
}

// The only reader of `op`'s value, beyond reshapes that keep the last dimension; null if there are several. A value of
// rank 0 counts as one whose last dimension is 0.
fbs::OperatorT* reader_of(const Graph& graph, const Rewriter& rewriter, const fbs::OperatorT* op) {
  const auto last_dimension = [&](TensorId tensor) {
    const std::vector<int32_t>& shape = graph.at(tensor).shape;
    return shape.empty() ? 0 : shape.back();
  };
  while (true) {
    const TensorId value = op->outputs.front();
    fbs::OperatorT* reader = rewriter.only_reader(value);
    if (!reader || reader->inputs.front() != value) return nullptr;
    if (!reader->params.AsReshape()) return reader;
    if (last_dimension(value) != last_dimension(reader->outputs.front())) return nullptr;
    op = reader;
  }
}

// Makes `op` read x instead of `affine` of x.
void absorb_before(Graph& graph, Rewriter& rewriter, fbs::OperatorT* op, const Affine& affine) {
  const Shape shape = graph.shape(op->inputs[1]);
  const size_t outputs = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[shape.rank - 1]);
  const size_t groups = affine.scale.size() / columns;
  std::vector<double> weight = graph.values(op->inputs[1]), bias(outputs, 0.0);
  if (op->inputs.size() > 2) bias = graph.values(op->inputs[2]);
  const size_t row = weight.size() / outputs;
  for (size_t i = 0; i < weight.size(); ++i) {
    const size_t out = i / row, in = out / (outputs / groups) * columns + i % columns;
    bias[out] += weight[i] * affine.shift[in];
    weight[i] *= affine.scale[in];
  }
  const std::string weight_name = graph.at(op->inputs[1]).name;
  const std::string bias_name = op->inputs.size() > 2 ? graph.at(op->inputs[2]).name : op->name + ".bias";
  rewriter.set_input(op, 1, graph.add_constant(weight_name, shape, std::move(weight)));
  rewriter.set_input(op, 2, graph.add_constant(bias_name, {shape[0]}, std::move(bias)));
}

}  // namespace

void fold_input_scale_shift(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  auto& ops = graph.table.operators;
  // In reverse order: an addition must be folded before the multiplication ahead of it can see the linear layer.
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    fbs::OperatorT* op = it->get();
    const auto* binary = op->params.AsBinary();
    if (!binary || clamps(binary->output_min, binary->output_max)) continue;
    fbs::OperatorT* reader = reader_of(graph, rewriter, op);
    if (!reader || !unpadded(*reader)) continue;
    if (!graph.is_constant(reader->inputs[1]) || (reader->inputs.size() > 2 && !graph.is_constant(reader->inputs[2])))
      continue;
    for (const size_t variable : {0u, 1u}) {
      const std::optional<Affine> affine = as_affine(graph, *op, variable);
      if (!affine) continue;
      absorb_before(graph, rewriter, reader, *affine);
      rewriter.set_input(rewriter.only_reader(op->outputs.front()), 0, {&graph, op->inputs[variable]});
      rewriter.remove(op);
      break;
    }
  }
  rewriter.finish();
}

}  // namespace ferry
