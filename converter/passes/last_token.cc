#include "converter/passes/last_token.h"

#include <algorithm>
#include <set>
#include <vector>

namespace ferry {
namespace {

// Finds the linear layers that compute the logits. A large weight has several, each with a part of the vocabulary
// (split_large_weight.cc): the last concatenates their results.
std::vector<size_t> find_heads(const Graph& graph) {
  std::set<TensorId> wanted = {graph.table.outputs.front()->tensor};
  std::vector<size_t> heads;
  for (size_t i = graph.table.operators.size(); i-- > 0 && !wanted.empty();) {
    const fbs::OperatorT& op = *graph.table.operators[i];
    if (wanted.erase(op.outputs.front()) == 0) continue;
    const fbs::ConcatT* const concat = op.params.AsConcat();
    const bool by_position = op.params.type == fbs::OpParams::Unary || op.params.type == fbs::OpParams::Binary ||
                             (concat && concat->axis == graph.shape(op.outputs.front()).rank - 1);
    if (op.params.type == fbs::OpParams::Linear) {
      heads.push_back(i);
    } else if (by_position) {
      for (TensorId input : op.inputs)
        if (!graph.is_constant(input)) wanted.insert(input);
    } else {
      fail("the logits are computed by '%s', expected a linear layer and elementwise functions", op.name.c_str());
    }
  }
  if (heads.empty() || !wanted.empty()) fail("no linear layer computes the logits");
  std::reverse(heads.begin(), heads.end());
  return heads;
}

}  // namespace

void keep_last_token(Graph* graph) {
  graph->table.taps.clear();
  std::vector<size_t> heads = find_heads(*graph);
  auto& operators = graph->table.operators;
  const Tensor index = graph->add_constant("last", {1}, std::vector<int32_t>{-1});
  while (!heads.empty()) {
    // The gather stands before the first head that reads its input.
    const size_t first = heads.front();
    const TensorId input = operators[first]->inputs.front();
    fbs::GatherT gather;
    gather.axis = 1;
    const TensorId last = graph->add_op("last", std::move(gather), {{graph, input}, index}).id;
    std::erase_if(heads, [&](size_t head) {
      if (operators[head]->inputs.front() != input) return false;
      operators[head]->inputs.front() = last;
      return true;
    });
    std::rotate(operators.begin() + static_cast<std::ptrdiff_t>(first), operators.end() - 1, operators.end());
    for (size_t& head : heads) ++head;
  }
}

}  // namespace ferry
