#include <limits>

#include "converter/passes/rewriter.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {
namespace {

template <typename Params>
bool add_padding(Params* params, const fbs::PadT& pad) {
  params->pad_top += pad.before[1];
  params->pad_left += pad.before[2];
  params->pad_bottom += pad.after[1];
  params->pad_right += pad.after[2];
  return true;
}

// Moves `pad` into the parameters of `op`. Returns false if their padding has another meaning.
bool absorb(fbs::OperatorT* op, const fbs::PadT& pad) {
  if (auto* conv = op->params.AsConv2d()) return pad.value == 0 && add_padding(conv, pad);
  auto* pool = op->params.AsPool2d();
  if (!pool || pool->ceil_mode) return false;
  if (pool->kind == fbs::PoolKind::Max)
    return pad.value == -std::numeric_limits<float>::infinity() && add_padding(pool, pad);
  // Zeros of the pad operator count in the mean, so those of the pool must count, too.
  const bool unpadded = pool->pad_top + pool->pad_left + pool->pad_bottom + pool->pad_right == 0;
  if (pad.value != 0 || !(unpadded || pool->count_include_pad)) return false;
  pool->count_include_pad = true;
  return add_padding(pool, pad);
}

}  // namespace

void fold_padding(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    const auto* pad = op->params.AsPad();
    if (!pad || !pad->multiple.empty() || pad->before.size() != 4 ||
        pad->before[0] + pad->before[3] + pad->after[0] + pad->after[3] != 0)
      continue;
    const TensorId padded = op->outputs.front();
    fbs::OperatorT* reader = rewriter.only_reader(padded);
    if (!reader || reader->inputs.front() != padded) continue;
    const fbs::OpParamsUnion before = reader->params;
    bool fits = absorb(reader, *pad);
    if (fits) {
      // If the rules forbid this much padding (a pool's window must touch the input), the pad operator stays.
      std::vector<Shape> shapes;
      for (TensorId input : reader->inputs) shapes.push_back(graph.shape(input));
      shapes.front() = graph.shape(op->inputs.front());
      Shape output;
      const SerializedOp serialized(*reader);
      fits = infer_shape(*serialized, shapes, &output).ok() && output == graph.shape(reader->outputs.front());
    }
    if (fits)
      rewriter.set_input(reader, 0, {&graph, op->inputs.front()});
    else
      reader->params = before;
  }
}

}  // namespace ferry
