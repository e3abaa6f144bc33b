#include <algorithm>

#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// Buffer size that every Vulkan device can bind (maxStorageBufferRange is at least 2^27), minus room for biases and
// rounding in kernels.
constexpr int64_t kMaxBytes = (int64_t{1} << 27) - (1 << 20);

// Number of parts of an operator's weight, which has one row per output channel; 1: not split. A weight with another
// reader, such as an embedding tied to the head, would be stored twice.
int parts_of(const Graph& graph, const fbs::OperatorT& op, const PerTensor<int>& readers) {
  const auto* conv = op.params.AsConv2d();
  if (!op.params.AsLinear() && !(conv && conv->groups == 1)) return 1;
  if (readers[op.inputs[1]] > 1) return 1;
  if (!by_constants(graph, op)) return 1;
  const Shape weight = graph.shape(op.inputs[1]);
  const int64_t bytes = weight.elements() * int64_t{sizeof(float)};
  return static_cast<int>(std::min<int64_t>((bytes + kMaxBytes - 1) / kMaxBytes, weight[0]));
}

}  // namespace

void split_large_weight(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  auto& ops = graph.table.operators;
  PerTensor<int> readers(graph.table.tensors.size());
  for (const auto& op : ops)
    for (TensorId input : op->inputs) ++readers[input];
  for (size_t i = 0; i < ops.size(); ++i) {
    fbs::OperatorT* const op = ops[i].get();
    const int parts = parts_of(graph, *op, readers);
    if (parts == 1) continue;
    const int outputs = graph.shape(op->inputs[1])[0];
    const int maximum = ((outputs + parts - 1) / parts + 3) / 4 * 4;  // GPUs store channels in groups of four
    const size_t before = ops.size();
    std::vector<Tensor> results;
    for (int begin = 0; begin < outputs; begin += maximum) {
      std::vector<Tensor> inputs = {{&graph, op->inputs.front()}};
      for (size_t k = 1; k < op->inputs.size(); ++k)
        inputs.push_back(rows_of(graph, op->inputs[k], begin, std::min(maximum, outputs - begin)));
      const auto* linear = op->params.AsLinear();
      results.push_back(linear ? graph.add_op(op->name, *linear, inputs)
                               : graph.add_op(op->name, *op->params.AsConv2d(), inputs));
    }
    fbs::ConcatT concat;
    concat.axis = graph.shape(op->outputs.front()).rank - 1;
    fbs::OpParamsUnion params;
    params.Set(std::move(concat));
    rewriter.replace(op, std::move(params), results);
    // Moves the parts from the end to before their reader.
    std::rotate(ops.begin() + static_cast<ptrdiff_t>(i), ops.begin() + static_cast<ptrdiff_t>(before), ops.end());
    i += results.size();
  }
  rewriter.finish();
}

}  // namespace ferry
