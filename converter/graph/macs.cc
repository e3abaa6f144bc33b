#include "converter/graph/macs.h"

#include "sdk/operators/operators.h"

namespace ferry {
namespace {

// Convolution (also deformable) and linear: each output element is a dot product with one row of the weight. Transposed
// convolution: each input element is multiplied with one row of its group. Experts: each token passes its top experts.
uint64_t macs_of(const fbs::Operator& op, const std::function<Shape(TensorId)>& shape_of) {
  if (const fbs::MatMul* p = op.params_as_MatMul()) {
    const Shape a = shape_of(op.inputs()->Get(0));
    return static_cast<uint64_t>(shape_of(output_of(op)).elements() * a[a.rank - (p->transpose_a() ? 2 : 1)]);
  }
  if (op.params_as_Experts() != nullptr) {
    const Shape gate_up = shape_of(op.inputs()->Get(3)), down = shape_of(op.inputs()->Get(4));
    const int64_t expert = gate_up.elements() / gate_up[0] + down.elements() / down[0];
    return static_cast<uint64_t>(shape_of(op.inputs()->Get(1)).elements() * expert);
  }
  if (!has_weight(op.params_type())) return 0;
  const Shape weight = shape_of(op.inputs()->Get(1));
  const fbs::ConvTranspose2d* p = op.params_as_ConvTranspose2d();
  const int64_t macs = p != nullptr
                           ? shape_of(op.inputs()->Get(0)).elements() * (weight.elements() / weight[3] / p->groups())
                           : shape_of(output_of(op)).elements() * (weight.elements() / weight[0]);
  return static_cast<uint64_t>(macs);
}

}  // namespace

uint64_t MacCounter::count(const fbs::Operator& op, const std::function<Shape(TensorId)>& shape_of) {
  if (const fbs::LoopBegin* loop = op.params_as_LoopBegin()) {
    const uint64_t steps = loop->unlimited() ? 1 : static_cast<uint64_t>(shape_of(op.inputs()->Get(0))[0]);
    times_.push_back(times_.back() * steps);
  }
  if (op.params_as_LoopEnd() != nullptr) times_.pop_back();
  return times_.back() * macs_of(op, shape_of);
}

uint64_t macs_of(const Graph& graph) {
  MacCounter counter;
  uint64_t macs = 0;
  for (const auto& op : graph.table.operators)
    macs += counter.count(*SerializedOp(*op), [&](TensorId tensor) { return graph.shape(tensor); });
  return macs;
}

}  // namespace ferry
