#include <algorithm>

#include "converter/passes/rewriter.h"

namespace ferry {
void fuse_activation(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    const auto* unary = op->params.AsUnary();
    if (op->outputs.empty() || !unary || unary->kind != fbs::UnaryKind::Clamp) continue;
    fbs::OperatorT* producer = rewriter.producer(op->inputs.front());
    if (!producer || rewriter.only_reader(op->inputs.front()) != op.get()) continue;
    const Clamp clamp = clamp_of(*producer);
    if (!clamp.low) continue;
    // Two clamps are one, unless their ranges are disjoint.
    const float low = std::clamp(*clamp.low, unary->alpha, unary->beta);
    const float high = std::clamp(*clamp.high, unary->alpha, unary->beta);
    if (!(low < high)) continue;
    *clamp.low = low;
    *clamp.high = high;
    rewriter.take_over(producer, op.get());
  }
  rewriter.finish();
}

}  // namespace ferry
