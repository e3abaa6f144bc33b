#include <algorithm>

#include "converter/passes/passes.h"
#include "sdk/operators/operators.h"

namespace ferry {

void hoist_from_loops(Graph& graph, const PassOptions&) {
  using Operators = std::vector<std::unique_ptr<fbs::OperatorT>>;
  Operators& all = graph.table.operators;
  if (std::none_of(all.begin(), all.end(), [](const auto& op) { return bounds_loop(op->params.type); })) return;
  // By the number of loops around them: the operators so far. Those of a loop follow once it ends, so that what moves
  // out of it comes before.
  std::vector<Operators> at(1);
  PerTensor<size_t> depth(graph.table.tensors.size());  // of the loop that computes a tensor
  for (auto& op : all) {
    size_t place = 0;
    for (const TensorId input : op->inputs) place = std::max(place, depth[input]);
    if (op->params.AsLoopBegin()) place = at.size() - 1;
    if (op->params.AsLoopEnd()) {
      Operators body = std::move(at.back());
      at.pop_back();
      place = at.size() - 1;
      std::move(body.begin(), body.end(), std::back_inserter(at.back()));
    }
    const bool begins = op->params.AsLoopBegin() != nullptr;
    if (begins) at.emplace_back();
    for (const TensorId output : op->outputs) depth[output] = begins ? place + 1 : place;
    at[begins ? place + 1 : place].push_back(std::move(op));
  }
  all = std::move(at.front());
}

}  // namespace ferry
