// Functions of two or more inputs, broadcast as in NumPy.
#include <numbers>

#include "converter/graph/trigonometry.h"
#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

using Binary = fbs::BinaryKind;

template <typename Options>
void arithmetic(Op& op, Binary kind) {
  const Tensor y = binary(kind, op.tensor(0), op.tensor(1));
  op.set(activated(op, y, op.options<Options>().fused_activation_function()));
}

void compare(Op& op, Binary kind, size_t a, size_t b) { op.set(binary(kind, op.tensor(a), op.tensor(b))); }

}  // namespace

void add(Op& op) { arithmetic<schema::AddOptions>(op, Binary::Add); }
void sub(Op& op) { arithmetic<schema::SubOptions>(op, Binary::Sub); }
void mul(Op& op) { arithmetic<schema::MulOptions>(op, Binary::Mul); }
void div(Op& op) { arithmetic<schema::DivOptions>(op, Binary::Div); }
void maximum(Op& op) { compare(op, Binary::Max, 0, 1); }
void minimum(Op& op) { compare(op, Binary::Min, 0, 1); }
void pow(Op& op) { compare(op, Binary::Pow, 0, 1); }
void floor_mod(Op& op) { compare(op, Binary::Mod, 0, 1); }
void equal(Op& op) { compare(op, Binary::Equal, 0, 1); }
void less(Op& op) { compare(op, Binary::Less, 0, 1); }
void less_equal(Op& op) { compare(op, Binary::LessOrEqual, 0, 1); }
void greater(Op& op) { compare(op, Binary::Less, 1, 0); }
void greater_equal(Op& op) { compare(op, Binary::LessOrEqual, 1, 0); }
void logical_and(Op& op) { compare(op, Binary::And, 0, 1); }
void logical_or(Op& op) { compare(op, Binary::Or, 0, 1); }
void not_equal(Op& op) { op.set(unary(binary(Binary::Equal, op.tensor(0), op.tensor(1)), fbs::UnaryKind::Not)); }
void prelu(Op& op) { compare(op, Binary::PRelu, 0, 1); }

void squared_difference(Op& op) {
  const Tensor d = op.tensor(0) - op.tensor(1);
  op.set(d.dtype() == fbs::DType::Float32 ? unary(d, fbs::UnaryKind::Square) : d * d);
}

// Integers are divided without a remainder, since Div truncates.
void floor_div(Op& op) {
  const Tensor a = op.tensor(0), b = op.tensor(1);
  if (a.dtype() == fbs::DType::Float32) return op.set(unary(binary(Binary::Div, a, b), fbs::UnaryKind::Floor));
  op.set(binary(Binary::Div, a - binary(Binary::Mod, a, b), b));
}

// inputs: y, x. The angle of (x, y), 0 for the origin.
void atan2(Op& op) {
  const Tensor y = op.tensor(0), x = op.tensor(1), zero = scalar(x, 0);
  const Tensor on_axis = binary(Binary::Equal, x, zero),
               at_origin = binary(Binary::And, on_axis, binary(Binary::Equal, y, zero));
  const Tensor ratio = binary(Binary::Div, y, select(on_axis, zero, x));  // no negative zero
  const Tensor half_turn =
      select(binary(Binary::Less, y, zero), scalar(x, -std::numbers::pi), scalar(x, std::numbers::pi));
  const Tensor turned = select(binary(Binary::Less, x, zero), half_turn, zero);
  op.set(arc_tangent(select(at_origin, zero, ratio)) + turned);
}

void add_n(Op& op) {
  Tensor sum = op.tensor(0);
  for (size_t i = 1; i < op.input_count(); ++i) sum = sum + op.tensor(i);
  op.set(sum);
}

void select_v2(Op& op) { op.set(select(op.tensor(0), op.tensor(1), op.tensor(2))); }

// The condition has the shape of the others, or one element per index of their first dimension.
void select(Op& op) {
  Tensor condition = op.tensor(0);
  const Shape of = op.shape(1);
  if (condition.shape().rank == 1 && of.rank > 1) {
    std::vector<int32_t> rows(static_cast<size_t>(of.rank), 1);
    rows[0] = condition.shape()[0];
    condition = reshape_to(condition, rows);
  }
  op.set(select(condition, op.tensor(1), op.tensor(2)));
}

}  // namespace ferry::tflite
