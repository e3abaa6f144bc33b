#include <algorithm>

#include "converter/graph/ops.h"
#include "converter/passes/passes.h"
#include "sdk/model/per_tensor.h"

namespace ferry {
namespace {

int64_t product(const Shape& shape, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= shape[i];
  return n;
}

// The single dimension that `slice` cuts; -1 if there are none or several.
int cut_dimension(const Shape& from, const Shape& to) {
  int cut = -1;
  for (int i = 0; i < from.rank; ++i) {
    if (from[i] == to[i]) continue;
    if (cut >= 0) return -1;
    cut = i;
  }
  return cut;
}

}  // namespace

void slice_before_reshape(Graph& graph, const PassOptions&) {
  PerTensor<fbs::OperatorT*> producers(graph.table.tensors.size());
  for (const auto& op : graph.table.operators)
    for (const TensorId output : op->outputs) producers[output] = op.get();
  for (size_t i = 0; i < graph.table.operators.size(); ++i) {
    fbs::OperatorT& op = *graph.table.operators[i];
    const auto* slice = op.params.AsSlice();
    const fbs::OperatorT* reshape = slice ? producers[op.inputs.front()] : nullptr;
    if (!reshape || !reshape->params.AsReshape()) continue;
    const Tensor whole{&graph, reshape->inputs.front()};
    const Shape from = graph.shape(op.inputs.front()), to = graph.shape(op.outputs.front());
    const int cut = cut_dimension(from, to), last = whole.shape().rank - 1;
    if (cut < 0 || product(from, 0, cut) != product(whole.shape(), 0, last)) continue;
    const int64_t inner = product(from, cut + 1, from.rank);
    const int begin = static_cast<int>(slice->begin[static_cast<size_t>(cut)] * inner);
    const Tensor part = ferry::slice(whole, last, begin, static_cast<int>(to[cut] * inner));
    std::vector<std::unique_ptr<fbs::OperatorT>>& ops = graph.table.operators;
    std::rotate(ops.begin() + static_cast<ptrdiff_t>(i), ops.end() - 1, ops.end());
    fbs::ReshapeT params;
    params.shape.assign(to.dims.begin(), to.dims.begin() + to.rank);
    op.params.Set(params);
    op.inputs = {part.id};
    ++i;
  }
}

}  // namespace ferry
