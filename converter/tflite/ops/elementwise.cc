// Functions of one input.
#include <cmath>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {

using Unary = fbs::UnaryKind;

void abs(Op& op) { op.set(unary(op.tensor(0), Unary::Abs)); }
void ceil(Op& op) { op.set(unary(op.tensor(0), Unary::Ceil)); }
void cos(Op& op) { op.set(unary(op.tensor(0), Unary::Cos)); }
void exp(Op& op) { op.set(unary(op.tensor(0), Unary::Exp)); }
void floor(Op& op) { op.set(unary(op.tensor(0), Unary::Floor)); }
void hard_swish(Op& op) { op.set(unary(op.tensor(0), Unary::HardSwish)); }
void log(Op& op) { op.set(unary(op.tensor(0), Unary::Log)); }
void logical_not(Op& op) { op.set(unary(op.tensor(0), Unary::Not)); }
void logistic(Op& op) { op.set(unary(op.tensor(0), Unary::Sigmoid)); }
void neg(Op& op) { op.set(unary(op.tensor(0), Unary::Neg)); }
void relu(Op& op) { op.set(ferry::relu(op.tensor(0))); }
void relu6(Op& op) { op.set(ferry::relu6(op.tensor(0))); }
void relu_0_to_1(Op& op) { op.set(clamp(op.tensor(0), 0, 1)); }
void relu_n1_to_1(Op& op) { op.set(clamp(op.tensor(0), -1, 1)); }
void round(Op& op) { op.set(unary(op.tensor(0), Unary::Round)); }  // ties to even
void sign(Op& op) { op.set(unary(op.tensor(0), Unary::Sign)); }
void sin(Op& op) { op.set(unary(op.tensor(0), Unary::Sin)); }
void sqrt(Op& op) { op.set(unary(op.tensor(0), Unary::Sqrt)); }
void square(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(x.dtype() == fbs::DType::Float32 ? unary(x, Unary::Square) : x * x);
}
void tanh(Op& op) { op.set(unary(op.tensor(0), Unary::Tanh)); }

void rsqrt(Op& op) { op.set(binary(fbs::BinaryKind::Div, scalar(op.tensor(0), 1), unary(op.tensor(0), Unary::Sqrt))); }

// Below 0: e^x - 1.
void elu(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(ferry::relu(x) + (unary(clamp(x, -kInfinity, 0), Unary::Exp) + -1.0));
}

void gelu(Op& op) {
  op.set(op.options<schema::GeluOptions>().approximate() ? gelu_tanh(op.tensor(0)) : ferry::gelu(op.tensor(0)));
}

void leaky_relu(Op& op) { op.set(ferry::leaky_relu(op.tensor(0), op.options<schema::LeakyReluOptions>().alpha())); }

void softmax(Op& op) {
  const float beta = op.options<schema::SoftmaxOptions>().beta();
  const Tensor x = op.tensor(0);
  op.set(ferry::softmax(beta == 1 ? x : x * static_cast<double>(beta)));
}

void log_softmax(Op& op) {
  const Tensor x = op.tensor(0);
  const std::vector<int32_t> last = {x.shape().rank - 1};
  const Tensor below = x - reduce(x, fbs::ReduceKind::Max, last, true);
  op.set(below - unary(reduce(unary(below, Unary::Exp), fbs::ReduceKind::Sum, last, true), Unary::Log));
}

// Constants are dequantised when they are read.
// DEQUANTIZE, DENSIFY and QUANTIZE: the same real values; op.set() rounds them to the output's integers.
// Constants of float16 may then stay so.
void converted(Op& op) {
  if (op.is_constant(0) && !op.is_output_quantised(0) && op.output_count() == 1) return op.set_alias();
  op.set(op.tensor(0));
}

// Rounds to the 256 values of unsigned 8-bit integers that cover a range and 0.
void fake_quant(Op& op) {
  const auto& o = op.options<schema::FakeQuantOptions>();
  if (o.num_bits() != 8 || o.narrow_range())
    op.refuse("it rounds to %d bits%s, expected 8", o.num_bits(), o.narrow_range() ? " of narrow range" : "");
  const float scale = (o.max() - o.min()) / 255, zero = -o.min() / scale;
  if (!(zero >= 0 && zero <= 255))
    op.refuse("its range of %g to %g lacks 0", static_cast<double>(o.min()), static_cast<double>(o.max()));
  op.set(quantize_dequantize(op.tensor(0), scale, static_cast<int64_t>(std::round(zero)) - 128));
}

void cast(Op& op) {
  if (op.is_quantised(0) || op.is_output_quantised(0)) op.refuse("it casts integers with a scale, not their values");
  const fbs::DType to = to_dtype(op.output_type(0));
  const bool same = op.type(0) == op.output_type(0) || (is_float(op.type(0)) && is_float(op.output_type(0)));
  if (same) return op.set(op.tensor(0));
  fbs::CastT params;
  params.to = to;
  op.set(op.graph().add_op("", params, {op.tensor(0)}));
}

}  // namespace ferry::tflite
