#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// Reorders the rows of a weight or bias from (c, cell) to (cell, c).
Tensor reorder(Graph& graph, TensorId constant, size_t channels, size_t cells) {
  const std::vector<double> source = graph.values(constant);
  const size_t row = source.size() / (channels * cells);
  std::vector<double> reordered(source.size());
  for (size_t c = 0; c < channels; ++c)
    for (size_t cell = 0; cell < cells; ++cell)
      for (size_t i = 0; i < row; ++i)
        reordered[(cell * channels + c) * row + i] = source[(c * cells + cell) * row + i];
  const std::string name = graph.at(constant).name;
  return graph.add_constant(name, graph.shape(constant), std::move(reordered));
}

}  // namespace

// Matches the operators of pixel_shuffle() in converter/graph/ops.h: conv2d, reshape to N,H,W,C,cells, transpose of the
// last two dimensions, reshape back, pixel_shuffle.
void absorb_pixel_shuffle(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    if (!op->params.AsConv2d() || !graph.is_constant(op->inputs[1])) continue;
    fbs::OperatorT* split = rewriter.only_reader(op->outputs.front());
    if (!split || !split->params.AsReshape()) continue;
    fbs::OperatorT* swap = rewriter.only_reader(split->outputs.front());
    if (!swap || !swap->params.AsTranspose() || swap->params.AsTranspose()->perm != std::vector<int32_t>{0, 1, 2, 4, 3})
      continue;
    fbs::OperatorT* join = rewriter.only_reader(swap->outputs.front());
    if (!join || !join->params.AsReshape()) continue;
    const Shape before = graph.shape(op->outputs.front()), cells = graph.shape(split->outputs.front());
    if (before != graph.shape(join->outputs.front()) || before[1] != cells[1] || before[2] != cells[2]) continue;
    fbs::OperatorT* shuffle = rewriter.only_reader(join->outputs.front());
    if (!shuffle || !shuffle->params.AsPixelShuffle()) continue;

    const size_t channels = static_cast<size_t>(cells[3]), count = static_cast<size_t>(cells[4]);
    for (size_t input = 1; input < op->inputs.size(); ++input)
      rewriter.set_input(op.get(), input, reorder(graph, op->inputs[input], channels, count));
    // removes the value between, whose channels are reordered, so that no tap names it
    rewriter.take_over(op.get(), join);
  }
  rewriter.finish();
}

}  // namespace ferry
