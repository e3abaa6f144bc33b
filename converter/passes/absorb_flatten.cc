#include "converter/passes/rewriter.h"

namespace ferry {

void absorb_flatten(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    const auto* to_nchw = op->params.AsTranspose();
    if (!to_nchw || to_nchw->perm != std::vector<int32_t>{0, 3, 1, 2}) continue;
    fbs::OperatorT* reshape = rewriter.only_reader(op->outputs.front());
    if (!reshape || !reshape->params.AsReshape()) continue;
    const Shape map = graph.shape(op->inputs.front()), flat = graph.shape(reshape->outputs.front());
    if (flat.rank != 2 || flat[0] != map[0]) continue;
    fbs::OperatorT* linear = rewriter.only_reader(reshape->outputs.front());
    if (!linear || !linear->params.AsLinear() || linear->inputs.front() != reshape->outputs.front() ||
        !graph.is_constant(linear->inputs[1]))
      continue;

    // Column (c, h, w) of the weight moves to (h, w, c).
    const size_t channels = static_cast<size_t>(map[3]),
                 positions = static_cast<size_t>(map[1]) * static_cast<size_t>(map[2]);
    const std::vector<double> source = graph.values(linear->inputs[1]);
    std::vector<double> permuted(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      const size_t row = i / (channels * positions), position = i / channels % positions, c = i % channels;
      permuted[i] = source[(row * channels + c) * positions + position];
    }
    const std::string name = graph.at(linear->inputs[1]).name;
    const Shape shape = graph.shape(linear->inputs[1]);
    rewriter.set_input(linear, 1, graph.add_constant(name, shape, std::move(permuted)));
    rewriter.set_input(reshape, 0, {&graph, op->inputs.front()});
    // 0 and -1 of the reshape referred to N,C,H,W; only the first dimension is unchanged.
    reshape->params.AsReshape()->shape = {0, -1};
  }
}

}  // namespace ferry
