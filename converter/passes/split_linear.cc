#include <algorithm>
#include <map>
#include <tuple>

#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

// Whether `op` slices the last dimension and nothing else.
bool cuts_channels(const Graph& graph, const fbs::OperatorT& op) {
  const auto* slice = op.params.AsSlice();
  if (!slice) return false;
  const Shape from = graph.shape(op.inputs.front()), to = graph.shape(op.outputs.front());
  return std::equal(from.dims.begin(), from.dims.begin() + from.rank - 1, to.dims.begin());
}

}  // namespace

void split_linear(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  std::map<std::tuple<TensorId, int, int>, Tensor> parts;  // of weights with several readers
  const auto part_of = [&](TensorId constant, int begin, int size) {
    const auto [part, added] = parts.try_emplace({constant, begin, size});
    if (added) part->second = rows_of(graph, constant, begin, size);
    return part->second;
  };
  const size_t count = graph.table.operators.size();
  for (size_t i = 0; i < count; ++i) {
    const fbs::OperatorT& linear = *graph.table.operators[i];
    const std::vector<fbs::OperatorT*> readers = rewriter.readers(linear.outputs.front());
    if (!linear.params.AsLinear() || readers.empty() || !by_constants(graph, linear) ||
        !std::all_of(readers.begin(), readers.end(), [&](const auto* op) { return cuts_channels(graph, *op); }))
      continue;
    for (fbs::OperatorT* reader : readers) {
      const int begin = reader->params.AsSlice()->begin.back();
      const Shape part = graph.shape(reader->outputs.front());
      std::vector<Tensor> inputs = {{&graph, linear.inputs.front()}};
      for (size_t k = 1; k < linear.inputs.size(); ++k)
        inputs.push_back(part_of(linear.inputs[k], begin, part[part.rank - 1]));
      if (reader->name.empty()) reader->name = linear.name;
      rewriter.replace(reader, linear.params, inputs);
    }
  }
  rewriter.finish();
}

}  // namespace ferry
