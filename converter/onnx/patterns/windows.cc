// Swin's windows: a map, cyclically shifted by exchanging slices, is partitioned by reshape, transpose and reshape; and
// the inverse.
#include "converter/onnx/patterns/graph_matcher.h"

namespace ferry::onnx {
namespace {

// `tensor` is `source` cyclically shifted by `shift` towards the beginning of `axis`.
struct Roll {
  TensorId source;
  int32_t shift;
};

std::optional<Roll> rolled(const GraphMatcher& m, TensorId tensor, int axis) {
  const fbs::OperatorT* concat = m.producer(tensor, fbs::OpParams::Concat);
  if (!concat || concat->inputs.size() != 2 || concat->params.AsConcat()->axis != axis) return {};
  const fbs::OperatorT* first = m.producer(concat->inputs[0], fbs::OpParams::Slice);
  const fbs::OperatorT* second = m.producer(concat->inputs[1], fbs::OpParams::Slice);
  if (!first || !second || first->inputs.front() != second->inputs.front()) return {};
  // Both slices cut this axis only, as their shapes show, and together they cover it.
  const TensorId source = first->inputs.front();
  const auto k = static_cast<size_t>(axis);
  const int32_t shift = first->params.AsSlice()->begin[k];
  if (m.shape(tensor) != m.shape(source) || second->params.AsSlice()->begin[k] != 0 ||
      m.shape(concat->inputs[1])[axis] != shift)
    return {};
  return Roll{source, shift};
}

// [N,a,b,c,d,C] from [N,a,c,b,d,C].
const fbs::OperatorT* swapped(const GraphMatcher& m, TensorId tensor) {
  const fbs::OperatorT* op = m.producer(m.before_reshapes(tensor), fbs::OpParams::Transpose);
  return op && op->params.AsTranspose()->perm == std::vector<int32_t>{0, 1, 3, 2, 4, 5} ? op : nullptr;
}

bool recognise_partition(GraphMatcher& m, size_t i) {
  const TensorId output = m.at(i).outputs.front();
  const fbs::OperatorT* swap = m.at(i).params.AsReshape() ? swapped(m, output) : nullptr;
  if (!swap) return false;
  const Shape d = m.shape(swap->inputs.front());  // N,H/h,h,W/w,w,C
  if (m.shape(output) != Shape{d[0] * d[1] * d[3], d[2] * d[4], d[5]}) return false;
  const auto map = m.reshaped_from(swap->inputs.front(), Shape{d[0], d[1] * d[2], d[3] * d[4], d[5]});
  if (!map) return false;
  fbs::WindowPartitionT params;
  params.window_h = d[2];
  params.window_w = d[4];
  TensorId source = *map;
  if (const auto roll = rolled(m, source, 2); roll && roll->shift < params.window_w) {
    params.shift_w = roll->shift;
    source = roll->source;
  }
  if (const auto roll = rolled(m, source, 1); roll && roll->shift < params.window_h) {
    params.shift_h = roll->shift;
    source = roll->source;
  }
  m.rewrite(i, params, {m.tensor(source)});
  return true;
}

bool recognise_reverse(GraphMatcher& m, size_t i) {
  const TensorId output = m.at(i).outputs.front();
  const fbs::OperatorT* swap = m.at(i).params.AsReshape() ? swapped(m, output) : nullptr;
  if (!swap) return false;
  const Shape d = m.shape(swap->outputs.front());  // N,H/h,h,W/w,w,C
  if (m.shape(output) != Shape{d[0], d[1] * d[2], d[3] * d[4], d[5]}) return false;
  const auto windows = m.reshaped_from(swap->inputs.front(), Shape{d[0] * d[1] * d[3], d[2] * d[4], d[5]});
  if (!windows) return false;
  fbs::WindowReverseT params;
  params.window_h = d[2];
  params.window_w = d[4];
  params.height = d[1] * d[2];
  params.width = d[3] * d[4];
  m.rewrite(i, params, {m.tensor(*windows)});
  return true;
}

// The cyclic shift after the inverse partition.
void recognise_rolled_back(GraphMatcher& m, size_t i) {
  for (const int axis : {1, 2}) {
    const auto roll = rolled(m, m.at(i).outputs.front(), axis);
    const fbs::OperatorT* reverse = roll ? m.producer(roll->source, fbs::OpParams::WindowReverse) : nullptr;
    if (!reverse) continue;
    fbs::WindowReverseT params = *reverse->params.AsWindowReverse();
    const int32_t back = m.shape(roll->source)[axis] - roll->shift;
    int32_t& shift = axis == 1 ? params.shift_h : params.shift_w;
    if (shift != 0 || back >= (axis == 1 ? params.window_h : params.window_w)) continue;
    shift = back;
    m.rewrite(i, params, {m.tensor(reverse->inputs.front())});
    return;
  }
}

}  // namespace

void recognise_windows(GraphMatcher& m) {
  for (size_t i = 0; i < m.size(); ++i)
    if (m.computes_floats(i) && !recognise_partition(m, i) && !recognise_reverse(m, i)) recognise_rolled_back(m, i);
}

}  // namespace ferry::onnx
