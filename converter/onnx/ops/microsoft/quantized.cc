// Quantized operators. Integer products are exact, as those of the standard; the others dequantize, compute in float32
// and quantize.
#include <cmath>

#include "converter/onnx/integers.h"
#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

// An operand of three inputs: integers, scale, zero point.
Tensor dequantized(Op& op, size_t first) {
  return call(op, onnx::dequantize_linear, {argument(op, first), argument(op, first + 1), argument(op, first + 2)}, {});
}

// Whether an operand's real values are known to the graph: they are added and multiplied as such.
bool has_real_values(Op& op, size_t first) {
  if (op.known(first)) return op.known(first + 1) && (!op.has(first + 2) || op.known(first + 2));
  const Tensor* x = std::get_if<Tensor>(&op.value(first));
  return x && is_int8(*x);
}

// Input first - zero point, as floating point.
Tensor centred(Op& op, size_t first) {
  const Tensor x = op.floating(first);
  return op.has(first + 2) ? x - op.floating(first + 2) : x;
}

// Whether an input is integers with a scale in the graph, too.
bool reads_int8(Op& op) {
  for (size_t i = 0; i < op.input_count(); ++i) {
    const Tensor* x = op.has(i) ? std::get_if<Tensor>(&op.value(i)) : nullptr;
    if (x && is_int8(*x)) return true;
  }
  return false;
}

void set_saturated(Op& op, Tensor y, Type type) {
  const double low = type == Type::Int8 ? -128 : 0, high = type == Type::Int8 ? 127 : 255;
  op.set(cast_to(unary(y, Unary::Clamp, low, high), to_dtype(type)), type);
}

// Sets round(y / scale) + zero point of the type of input 0, or of the zero point.
void set_quantized(Op& op, Tensor y, size_t scale, size_t zero_point, size_t like = 0) {
  const Type type = op.has(zero_point) ? op.type(zero_point) : op.type(like);
  if (reads_int8(op)) {
    Argument zero = argument(op, zero_point);
    if (!op.has(zero_point)) zero = make_array(type, {}, std::vector<int64_t>{0});
    const std::vector<Argument> made = call_all(op, onnx::quantize_linear, {y, argument(op, scale), zero}, {}, 1);
    return op.set(made[0].value, type);
  }
  const Tensor steps = unary(binary(Binary::Div, y, op.floating(scale)), Unary::Round);
  set_saturated(op, op.has(zero_point) ? steps + op.floating(zero_point) : steps, type);
}

// Sets round(y + zero point), saturated: where y has been divided by the scale. Unlike set_quantized(), a tie is
// decided with the zero point added.
void set_rounded(Op& op, Tensor y, size_t zero_point, size_t like) {
  if (op.has(zero_point)) y = y + op.floating(zero_point);
  set_saturated(op, unary(y, Unary::Round), op.type(like));
}

// The quotient of two scales.
Tensor ratio(Tensor a, Tensor b) { return binary(Binary::Div, a, b); }

// sums * scales + bias, of Int32 sums [...,M,N].
Tensor scaled(Op& op, Tensor sums, Tensor scale, size_t bias) {
  const Tensor y = cast_to(sums, fbs::DType::Float32) * scale;
  return op.has(bias) ? y + op.floating(bias) : y;
}

// Pools dequantized values; with `channels_last`, [N,...,C].
void pool(Op& op, OpFunction function) {
  const bool last = op.integer("channels_last", 0) != 0;
  const Tensor x = dequantized(op, 0);
  const Tensor y = call(op, function, {last ? channels_to_front(x) : x});
  set_quantized(op, last ? channels_to_back(y) : y, 3, 4);
}

}  // namespace

void dynamic_quantize_matmul(Op& op) {
  const std::vector<Argument> a = call_all(op, onnx::dynamic_quantize_linear, {argument(op, 0)}, {}, 3);
  const Tensor sums = call(op, onnx::matmul_integer, {a[0], argument(op, 1), a[2], argument(op, 3)}, {});
  op.set(scaled(op, sums, tensor_of(op, a[1]) * op.floating(2), 4));
}

void matmul_integer_to_float(Op& op) {
  const Tensor sums =
      call(op, onnx::matmul_integer, {argument(op, 0), argument(op, 1), argument(op, 4), argument(op, 5)}, {});
  if (count_elements(op.dims(2)) != 1) op.refuse("a_scale is %s, expected one scale", to_string(op.dims(2)).c_str());
  op.set(scaled(op, sums, op.floating(2) * op.floating(3), 6), op.type(2));
}

void mul_integer(Op& op) {
  const auto operand = [&](size_t i) {
    const Tensor x = op.tensor(i);
    return op.has(i + 1) ? x - op.tensor(i + 1) : x;
  };
  op.set(operand(0) * operand(2), Type::Int32);
}

void reduce_sum_integer(Op& op) {
  const std::vector<int> axes = op.axes(op.integers("axes"), op.rank(0));
  op.set(reduce(op.tensor(0), fbs::ReduceKind::Sum, axes, op.integer("keepdims", 1) != 0),
         op.type(0) == Type::UInt8 ? Type::UInt32 : Type::Int32);
}

void qgemm(Op& op) {
  const auto operand = [&](size_t i, const char* name) {
    Argument x = argument(op, i);
    if (op.integer(name, 0) == 0) return x;
    if (const Array* array = std::get_if<Array>(&x.value)) return Argument(onnx::transpose(*array, {1, 0}));
    return Argument(ferry::transpose(op.tensor(i), {1, 0}), x.type);
  };
  for (const size_t i : {0, 3})
    if (op.rank(i) != 2) op.refuse("input %zu is %s, expected a matrix", i, to_string(op.dims(i)).c_str());
  Tensor sums = call(op, onnx::matmul_integer,
                     {operand(0, "transA"), operand(3, "transB"), argument(op, 2), argument(op, 5)}, {});
  if (op.has(6)) sums = sums + op.tensor(6);
  const Tensor scale = op.floating(1) * op.floating(4) * op.number("alpha", 1);
  const Tensor y = cast_to(sums, fbs::DType::Float32);
  if (!op.has(7)) return op.set(y * scale, Type::Float32);
  set_quantized(op, y * scale, 7, 8);
}

void qlinear_add(Op& op) {
  if (has_real_values(op, 0) && has_real_values(op, 3))
    return set_quantized(op, dequantized(op, 0) + dequantized(op, 3), 6, 7);
  const Tensor a = centred(op, 0) * ratio(op.floating(1), op.floating(6));
  const Tensor b = centred(op, 3) * ratio(op.floating(4), op.floating(6));
  set_rounded(op, a + b, 7, 0);
}

void qlinear_mul(Op& op) {
  if (has_real_values(op, 0) && has_real_values(op, 3))
    return set_quantized(op, dequantized(op, 0) * dequantized(op, 3), 6, 7);
  const Tensor product = centred(op, 0) * centred(op, 3);
  set_rounded(op, product * ratio(op.floating(1) * op.floating(4), op.floating(6)), 7, 0);
}

void qlinear_sigmoid(Op& op) { set_quantized(op, unary(dequantized(op, 0), Unary::Sigmoid), 3, 4); }

void qlinear_leaky_relu(Op& op) {
  set_quantized(op, unary(dequantized(op, 0), Unary::LeakyRelu, op.number("alpha", 0.01)), 3, 4);
}

// ONNX Runtime multiplies by the integer part of 1 / scale and rounds half up.
void qlinear_softmax(Op& op) {
  const bool flattens = op.integer("opset", 13) < 13;
  const int axis = op.axis(op.integer("axis", flattens ? 1 : -1), op.rank(0));
  const Dims dims = op.dims(0);
  Tensor x = dequantized(op, 0);
  if (flattens) {
    Dims flat(dims.begin(), dims.begin() + axis);
    flat.push_back(count_elements(Dims(dims.begin() + axis, dims.end())));
    x = reshape_to(ferry::softmax(reshape_to(x, flat)), dims);
  } else {
    x = swap_with_last(ferry::softmax(swap_with_last(x, axis)), axis);
  }
  const float steps = std::floor(1.0f / static_cast<float>(op.single(3, "y_scale")));
  set_rounded(op, unary(x * static_cast<double>(steps) + 0.5, Unary::Floor), 4, 0);
}

void qlinear_average_pool(Op& op) { pool(op, onnx::average_pool); }
void qlinear_global_average_pool(Op& op) { pool(op, onnx::global_average_pool); }

void qlinear_reduce_mean(Op& op) {
  const std::vector<int> axes = op.axes(op.integers("axes"), op.rank(0));
  set_quantized(op, reduce(dequantized(op, 0), fbs::ReduceKind::Mean, axes, op.integer("keepdims", 1) != 0), 3, 4);
}

// Scale and zero point of the result, then three inputs a part.
void qlinear_concat(Op& op) {
  if (op.input_count() < 5 || (op.input_count() - 2) % 3 != 0)
    op.refuse("%zu inputs, expected two and three for each part", op.input_count());
  std::vector<Tensor> parts;
  for (size_t i = 2; i < op.input_count(); i += 3) parts.push_back(dequantized(op, i));
  const int axis = op.axis(op.integer("axis", 0), parts[0].shape().rank);
  set_quantized(op, ferry::concat(parts, axis), 0, 1, 2);
}

void qlinear_where(Op& op) { set_quantized(op, select(op.tensor(0), dequantized(op, 1), dequantized(op, 4)), 7, 8); }

void qlinear_conv(Op& op) { with_channels_first(op, false, onnx::qlinear_conv); }

}  // namespace ferry::onnx::microsoft
