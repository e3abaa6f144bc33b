// Pools. The padding of an average is not counted.
#include "converter/tflite/ops/ops.h"
#include "converter/tflite/ops/window.h"

namespace ferry::tflite {
namespace {

Tensor pooled(const Op& op, Tensor x, fbs::PoolKind kind) {
  const auto& o = op.options<schema::Pool2DOptions>();
  const Shape shape = map_shape(op, 0);
  check_window(op, {o.stride_h(), o.stride_w(), o.filter_height(), o.filter_width()});
  const Padded rows = padding_of(o.padding(), shape[1], o.filter_height(), o.stride_h(), 1);
  const Padded columns = padding_of(o.padding(), shape[2], o.filter_width(), o.stride_w(), 1);
  fbs::Pool2dT params;
  params.kind = kind;
  params.kernel_h = o.filter_height();
  params.kernel_w = o.filter_width();
  params.stride_h = o.stride_h();
  params.stride_w = o.stride_w();
  params.pad_top = rows.before;
  params.pad_bottom = rows.after;
  params.pad_left = columns.before;
  params.pad_right = columns.after;
  params.count_include_pad = false;
  return op.graph().add_op("", params, {x});
}

Tensor with_activation(const Op& op, Tensor y) {
  return activated(op, y, op.options<schema::Pool2DOptions>().fused_activation_function());
}

}  // namespace

void average_pool_2d(Op& op) { op.set(with_activation(op, pooled(op, op.tensor(0), fbs::PoolKind::Average))); }
void max_pool_2d(Op& op) { op.set(with_activation(op, pooled(op, op.tensor(0), fbs::PoolKind::Max))); }
void l2_pool_2d(Op& op) {
  const Tensor squares = unary(op.tensor(0), fbs::UnaryKind::Square);
  op.set(with_activation(op, unary(pooled(op, squares, fbs::PoolKind::Average), fbs::UnaryKind::Sqrt)));
}

}  // namespace ferry::tflite
