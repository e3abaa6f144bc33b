#include "converter/passes/last_token.h"

#include <algorithm>

namespace ferry {
namespace {

// Finds the linear layer that computes the logits.
size_t find_head(const Graph& graph) {
  TensorId wanted = graph.table.outputs.front()->tensor;
  for (size_t i = graph.table.operators.size(); i-- > 0;) {
    const fbs::OperatorT& op = *graph.table.operators[i];
    if (std::find(op.outputs.begin(), op.outputs.end(), wanted) == op.outputs.end()) continue;
    if (op.params.type == fbs::OpParams::Linear) return i;
    if (op.params.type != fbs::OpParams::Unary && op.params.type != fbs::OpParams::Binary) break;
    wanted = *std::find_if(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return !graph.is_constant(t); });
  }
  fail("no linear layer computes the logits");
}

}  // namespace

void keep_last_token(Graph* graph) {
  graph->table.taps.clear();
  const size_t head = find_head(*graph);
  auto& operators = graph->table.operators;
  TensorId& input = operators[head]->inputs.front();
  const Tensor last = graph->add_constant("last", {1}, std::vector<int32_t>{-1});
  fbs::GatherT gather;
  gather.axis = 1;
  input = graph->add_op("last", std::move(gather), {{graph, input}, last}).id;
  std::rotate(operators.begin() + static_cast<std::ptrdiff_t>(head), operators.end() - 1, operators.end());
}

}  // namespace ferry
