// Quantization: value = (integer - zero point) * scale. Sums of products of 8-bit integers are exact: float32 computes
// partial sums that fit its 24 bits, and the partial sums are added as integers.
#include <algorithm>
#include <cmath>

#include "converter/onnx/integers.h"
#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

struct Range {
  double low, high;
};

Range range_of(Op& op, Type type) {
  switch (type) {
    case Type::UInt8: return {0, 255};
    case Type::Int8: return {-128, 127};
    case Type::UInt16: return {0, 65535};
    case Type::Int16: return {-32768, 32767};
    case Type::UInt4: return {0, 15};
    case Type::Int4: return {-8, 7};
    case Type::UInt2: return {0, 3};
    case Type::Int2: return {-2, 1};
    default: op.refuse("it quantizes to %s, expected integers of 2, 4, 8 or 16 bits", type_name(type).c_str());
  }
}

// Broadcasts a scale or zero point to input 0: per tensor, per position along `axis`, or per block along it.
Value spread(Op& op, size_t input, int axis) {
  const Dims dims = op.dims(0), own = op.dims(input);
  const auto at = static_cast<size_t>(axis);
  Dims to(dims.size(), 1);
  Value value = op.value(input);
  if (dims.empty() && count_elements(own) != 1) op.refuse("several scales of a scalar");
  if (own.size() == dims.size() && own.size() > 0 && own != to && own[at] > 0) {
    const int64_t block = op.integer("block_size", 0) > 0 ? op.integer("block_size", 0) : 1;
    if (own[at] != (dims[at] + block - 1) / block)
      op.refuse("%s for blocks of %lld along dimension %d of %s", to_string(own).c_str(), static_cast<long long>(block),
                axis, to_string(dims).c_str());
    std::vector<int64_t> positions;
    for (int64_t p = 0; p < dims[at]; ++p) positions.push_back(std::min(p / block, own[at] - 1));
    to = own;
    to[at] = dims[at];
    value = block == 1 ? value : pick(op, value, axis, positions);
  } else if (count_elements(own) != 1) {
    to[at] = dims[at];
  }
  if (const Array* array = std::get_if<Array>(&value)) return array->reshaped(to);
  return reshape_to(std::get<Tensor>(value), to);
}

Tensor as_floating(Op& op, const Value& value) {
  const Tensor* tensor = std::get_if<Tensor>(&value);
  if (!tensor) return add_constant(op.graph(), "", cast(std::get<Array>(value), Type::Float32));
  return cast_to(*tensor, fbs::DType::Float32);
}

int quantised_axis(Op& op) {
  const int rank = op.rank(0);
  return rank < 2 ? 0 : op.axis(op.integer("axis", 1), rank);
}

// Saturates a rounded value with its zero point added.
Tensor saturated(Op& op, Tensor x, Type type) {
  const Range range = range_of(op, type);
  const bool narrow = type_bits(type) < 8;  // the graph has no such type
  return cast_to(unary(x, Unary::Clamp, range.low, range.high), to_dtype(narrow ? Type::Int8 : type));
}

Type quantised_type(Op& op, size_t zero_point) {
  if (op.has(zero_point)) return op.type(zero_point);
  const auto said = static_cast<Type>(op.integer("output_dtype", 0));
  return said == Type::Undefined ? Type::UInt8 : said;
}

// 8-bit integers with one known scale: those that Int8 tensors can have.
struct Affine {
  Type type;
  double scale;
  int64_t zero_point;
};

// Of the inputs `scale` and `zero_point`; nothing if such an activation is computed in Float32, as one whose scale
// holds the -3e38 of a mask.
std::optional<Affine> affine_of(Op& op, size_t scale, size_t zero_point) {
  const auto single = [&](size_t input) { return op.known(input) && count_elements(op.dims(input)) == 1; };
  const Type type = quantised_type(op, zero_point);
  if ((type != Type::UInt8 && type != Type::Int8) || !single(scale)) return {};
  if (op.has(zero_point) && !single(zero_point)) return {};
  const int64_t zero = op.has(zero_point) ? op.array(zero_point, "the zero point").ints().front() : 0;
  const double step = op.single(scale, "the scale");
  if (step > static_cast<double>(kLargestScale)) return {};
  return Affine{type, step, zero};
}

// The real values of input `i`, if it is an Int8 tensor with the scale and zero point of the two inputs that follow.
std::optional<Tensor> real_input(Op& op, size_t i) {
  const Tensor* x = std::get_if<Tensor>(&op.value(i));
  if (!x || !is_int8(*x)) return {};
  const auto affine = affine_of(op, i + 1, i + 2);
  if (!affine || !is_quantised_by(*x, affine->type, affine->scale, affine->zero_point)) return {};
  return real_of(*x);
}

// round(x * factor) + zero point, as `type`.
void set_requantised(Op& op, Tensor x, Tensor factor, size_t zero_point) {
  const Type type = quantised_type(op, zero_point);
  Tensor y = unary(x * factor, Unary::Round);
  if (op.has(zero_point)) y = y + op.floating(zero_point);
  op.set(saturated(op, y, type), type);
}

}  // namespace

void quantize_linear(Op& op) {
  const int axis = quantised_axis(op);
  const Type type = quantised_type(op, 2);
  const Range range = range_of(op, type);
  const Value scale = spread(op, 1, axis);
  const Value zero = op.has(2) ? spread(op, 2, axis) : Value(make_array(Type::Int32, {}, std::vector<int64_t>{0}));
  if (op.known()) {
    // Quotients are rounded to float32 before rounding to integers.
    const Array quotients = combine(
        cast(op.array(0, "x"), Type::Float32), std::get<Array>(scale),
        [](auto x, auto s) { return std::nearbyint(static_cast<float>(x) / static_cast<float>(s)); }, Type::Float64);
    const auto move = [&](auto q, auto z) {
      return std::clamp(static_cast<double>(q) + static_cast<double>(z), range.low, range.high);
    };
    return op.set(combine(quotients, std::get<Array>(zero), move, type));
  }
  if (const auto affine = affine_of(op, 1, 2))
    return op.set(quantised(op.floating(0), affine->type, affine->scale, affine->zero_point), type);
  const Tensor rounded = unary(binary(Binary::Div, op.floating(0), as_floating(op, scale)), Unary::Round);
  op.set(saturated(op, rounded + as_floating(op, zero), type), type);
}

namespace {

// Float32: (integers - zero point) * scale, the two per tensor or per position along `axis`. zero_point: null for 0.
Array dequantised(const Array& integers, const Array& scale, const Array* zero_point, size_t axis) {
  const std::vector<double> scales = scale.floats();
  const std::vector<int64_t> from = integers.ints();
  const std::vector<int64_t> zeros = zero_point ? zero_point->ints() : std::vector<int64_t>{0};
  size_t inner = 1;
  for (size_t d = axis + 1; d < integers.dims.size(); ++d) inner *= static_cast<size_t>(integers.dims[d]);
  std::vector<double> values(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t at = i / inner;
    values[i] = static_cast<double>(static_cast<float>(from[i] - zeros[at % zeros.size()]) *
                                    static_cast<float>(scales[at % scales.size()]));
  }
  return make_array(Type::Float32, integers.dims, values);
}

// Nothing for scales by block and other types.
std::optional<Array> dequantised_constant(Op& op, Type type, int axis) {
  const bool integers = op.known(0) && !is_float(op.type(0)) && !is_small_float(op.type(0));
  if (!op.known() || !integers || type != Type::Float32 || op.type(1) != Type::Float32) return {};
  const Array &x = op.array(0, "x"), &scale = op.array(1, "the scale");
  const Array* zero = op.has(2) ? &op.array(2, "the zero point") : nullptr;
  const bool along_axis = !x.dims.empty() && scale.dims == Dims{x.dims[static_cast<size_t>(axis)]};
  const bool fits = scale.elements() == 1 || along_axis;
  if (op.integer("block_size", 0) != 0 || !fits || (zero && zero->elements() != scale.elements())) return {};
  return dequantised(x, scale, zero, static_cast<size_t>(axis));
}

}  // namespace

void dequantize_linear(Op& op) {
  const auto said = static_cast<Type>(op.integer("output_dtype", 0));
  const Type type = said == Type::Undefined ? op.type(1) : said;
  if (auto constant = dequantised_constant(op, type, quantised_axis(op))) return op.set(std::move(*constant));
  if (const auto real = real_input(op, 0)) return op.set(*real, type);
  const int axis = quantised_axis(op);
  Tensor x = op.floating(0);
  if (op.has(2)) x = x - as_floating(op, spread(op, 2, axis));
  op.set(x * as_floating(op, spread(op, 1, axis)), type);
}

// Quantizes to 8 bits over the range of the values and 0.
void dynamic_quantize_linear(Op& op) {
  const Tensor x = op.tensor(0), zero = scalar(x, 0);
  std::vector<int> all;
  for (int i = 0; i < op.rank(0); ++i) all.push_back(i);
  const Tensor low = binary(Binary::Min, reduce(x, fbs::ReduceKind::Min, all, false), zero);
  const Tensor high = binary(Binary::Max, reduce(x, fbs::ReduceKind::Max, all, false), zero);
  const Tensor scale = (high - low) * (1.0 / 255);
  const Tensor zero_point = unary(unary(binary(Binary::Div, zero - low, scale), Unary::Clamp, 0, 255), Unary::Round);
  const Tensor rounded = unary(binary(Binary::Div, x, scale), Unary::Round) + zero_point;
  op.set(0, saturated(op, rounded, Type::UInt8), Type::UInt8);
  op.set(1, reshape_to(scale, {}), Type::Float32);
  op.set(2, reshape_to(cast_to(zero_point, fbs::DType::UInt8), {}), Type::UInt8);
}

namespace {

// Splits values in -255..255 into a sum of parts, each a power of two times few bits, so that sums of `terms` products
// with values of that range are exact in float32.
struct ScaledPart {
  Array values;
  int32_t factor;
};

std::vector<ScaledPart> exact_parts(Op& op, const Array& integers, int64_t terms) {
  int bits = 8;
  while (bits > 0 && 255 * ((int64_t{1} << bits) - 1) * terms > int64_t{1} << 24) bits /= 2;
  if (bits == 0) op.refuse("sums of %lld products of integers are not exact", static_cast<long long>(terms));
  const std::vector<int64_t> values = integers.ints();
  std::vector<ScaledPart> parts;
  for (int shift = 0; shift < 8; shift += bits) {
    std::vector<int64_t> part;
    for (const int64_t v : values) {
      const int64_t magnitude = (std::abs(v) >> shift) & ((int64_t{1} << bits) - 1);
      part.push_back(v < 0 ? -magnitude : magnitude);
    }
    parts.push_back({cast(make_array(Type::Int64, integers.dims, part), Type::Float32), int32_t{1} << shift});
  }
  return parts;
}

// A constant weight minus its zero point, per tensor or per position along `axis`.
Array centred(Op& op, size_t weight, size_t zero_point, size_t axis) {
  const Array& w = op.array(weight, "the weight");
  if (!op.has(zero_point)) return cast(w, Type::Int32);
  const Array& zero = op.array(zero_point, "the zero point");
  Dims to(w.dims.size(), 1);
  if (zero.elements() != 1) to[axis] = zero.elements();
  return combine_integers(cast(w, Type::Int32), cast(zero, Type::Int32).reshaped(to),
                          [](int64_t a, int64_t b) { return a - b; });
}

template <typename Product>
Tensor exact_sum(Op& op, const Array& weight, int64_t terms, Product product) {
  std::optional<Tensor> sum;
  for (const ScaledPart& part : exact_parts(op, weight, terms)) {
    Tensor y = cast_to(product(part.values), fbs::DType::Int32);
    if (part.factor != 1) y = y * scalar(y, part.factor);
    sum = sum ? *sum + y : y;
  }
  return *sum;
}

// Sums are exact for 8-bit integers only.
void check_bytes(Op& op, size_t input) {
  if (op.type(input) != Type::UInt8 && op.type(input) != Type::Int8)
    op.refuse("input %zu is of type %s, expected integers of 8 bits", input, type_name(op.type(input)).c_str());
}

// Int32 [...,M,N] of a [...,M,K] and b [...,K,N], minus their zero points.
Tensor integer_matmul(Op& op, size_t a, size_t a_zero, size_t b, size_t b_zero) {
  check_bytes(op, a);
  check_bytes(op, b);
  if (op.rank(a) < 2 || op.rank(b) < 2) op.refuse("expected matrices");
  Tensor left = op.floating(a);
  if (op.has(a_zero)) {
    const Dims zero = op.dims(a_zero);
    left =
        left - (zero.size() == 1 && zero[0] > 1 ? reshape_to(op.floating(a_zero), {zero[0], 1}) : op.floating(a_zero));
  }
  const int64_t terms = dims_of(left).back();
  const bool matrix = op.known(b) && op.dims(b).size() == 2 && (!op.has(b_zero) || op.known(b_zero));
  if (matrix && !op.known()) {
    return exact_sum(op, centred(op, b, b_zero, 1), terms, [&](const Array& part) {
      const Tensor weight = add_constant(op.graph(), op.input_name(b), transpose(part, {1, 0}));
      return op.graph().add_op("", fbs::LinearT{}, {left, weight});
    });
  }
  Tensor right = op.floating(b);
  if (op.has(b_zero)) right = right - op.floating(b_zero);
  // Number of terms that float32 adds exactly.
  constexpr int64_t kExactTerms = (1 << 24) / (255 * 255);
  std::optional<Tensor> sum;
  for (int64_t first = 0; first < terms; first += kExactTerms) {
    const int begin = static_cast<int>(first), size = static_cast<int>(std::min(kExactTerms, terms - first));
    const Tensor part = size == terms
                            ? multiply(op, left, right)
                            : multiply(op, ferry::slice(left, -1, begin, size), ferry::slice(right, -2, begin, size));
    const Tensor whole = cast_to(part, fbs::DType::Int32);
    sum = sum ? *sum + whole : whole;
  }
  return *sum;
}

Tensor integer_conv(Op& op, size_t x_zero, size_t weight, size_t w_zero) {
  check_bytes(op, 0);
  check_bytes(op, weight);
  Tensor x = op.floating(0);
  if (op.has(x_zero)) x = x - op.floating(x_zero);
  const Array w = centred(op, weight, w_zero, 0);
  const int64_t terms = w.dims.empty() ? 0 : w.elements() / std::max<int64_t>(w.dims[0], 1);
  return exact_sum(op, w, terms, [&](const Array& part) { return convolve(op, x, part); });
}

}  // namespace

void matmul_integer(Op& op) { op.set(integer_matmul(op, 0, 2, 1, 3), Type::Int32); }
void conv_integer(Op& op) { op.set(integer_conv(op, 2, 1, 3), Type::Int32); }

namespace {

// The real values of a constant operand: integers, scale and zero point, per tensor or along `axis`.
Array real_constant(Op& op, size_t i, size_t axis) {
  const Array &integers = op.array(i, "the weight"), &scale = op.array(i + 1, "the scale");
  const Array* zero = op.has(i + 2) ? &op.array(i + 2, "the zero point") : nullptr;
  if (integers.dims.size() <= axis)
    op.refuse("the weight has %zu dimensions, expected at least %zu", integers.dims.size(), axis + 1);
  for (const Array* of : {&scale, zero})
    if (of && of->elements() != 1 && of->elements() != integers.dims[axis])
      op.refuse("%lld scales or zero points for %lld channels", static_cast<long long>(of->elements()),
                static_cast<long long>(integers.dims[axis]));
  return dequantised(integers, scale, zero, axis);
}

// Whether input 0 and a constant operand, input 3, are multiplied as real values, and the product is rounded by inputs
// 6 and 7: what compute_on_integers() finds.
std::optional<Tensor> input_of_product(Op& op) {
  if (!op.known(3) || !op.known(4) || (op.has(5) && !op.known(5)) || !affine_of(op, 6, 7)) return {};
  return real_input(op, 0);
}

void set_product(Op& op, Tensor y) {
  const Affine to = *affine_of(op, 6, 7);
  op.set(quantised(y, to.type, to.scale, to.zero_point), to.type);
}

}  // namespace

void qlinear_matmul(Op& op) {
  if (const auto x = op.rank(3) == 2 ? input_of_product(op) : std::nullopt) {
    const Tensor weight = add_constant(op.graph(), op.input_name(3), transpose(real_constant(op, 3, 1), {1, 0}));
    return set_product(op, op.graph().add_op("", fbs::LinearT{}, {*x, weight}));
  }
  const Tensor sums = cast_to(integer_matmul(op, 0, 2, 3, 5), fbs::DType::Float32);
  set_requantised(op, sums, binary(Binary::Div, op.floating(1) * op.floating(4), op.floating(6)), 7);
}

void qlinear_conv(Op& op) {
  const auto x = input_of_product(op);
  Tensor sums = x ? convolve(op, *x, real_constant(op, 3, 0)) : integer_conv(op, 2, 3, 5);
  const auto per_channel = [&](Tensor v) {
    Dims to(dims_of(sums).size() - 1, 1);
    to[0] = count_elements(dims_of(v));
    return reshape_to(v, to);
  };
  const Tensor scales = op.floating(1) * op.floating(4);
  if (x) {
    if (op.has(8)) sums = sums + per_channel(op.floating(8) * scales);
    return set_product(op, sums);
  }
  if (op.has(8)) sums = sums + per_channel(op.tensor(8));
  set_requantised(op, cast_to(sums, fbs::DType::Float32), per_channel(binary(Binary::Div, scales, op.floating(6))), 7);
}

// x times a weight of integers: inputs x, weight, scale, zero point, bias.
void ferry_dynamic_product(Op& op) {
  const Tensor weight = add_constant(op.graph(), op.input_name(1), transpose(real_constant(op, 1, 1), {1, 0}));
  const Tensor y = op.graph().add_op("", fbs::LinearT{}, {op.tensor(0), weight});
  op.set(op.has(4) ? y + op.floating(4) : y);
}

// Inputs x, weight, scale, zero point.
void ferry_dynamic_conv(Op& op) { op.set(convolve(op, op.tensor(0), real_constant(op, 1, 0))); }

// Inputs table, indices, scale, zero point.
void ferry_dequantized_rows(Op& op) {
  const Array& table = op.array(0, "the table");
  const Array* zero = op.has(3) ? &op.array(3, "the zero point") : nullptr;
  op.set(
      microsoft::call(op, gather, {dequantised(table, op.array(2, "the scale"), zero, 0), microsoft::argument(op, 1)}));
}

// x, quantized and dequantized.
void ferry_quantize_dequantize(Op& op) {
  if (const auto affine = affine_of(op, 1, 2))
    if (!op.known(0))
      return op.set(real_of(quantised(op.floating(0), affine->type, affine->scale, affine->zero_point)));
  const int axis = quantised_axis(op);
  const Range range = range_of(op, quantised_type(op, 2));
  const Tensor scale = as_floating(op, spread(op, 1, axis));
  Tensor rounded = unary(binary(Binary::Div, op.floating(0), scale), Unary::Round);
  if (!op.has(2)) return op.set(unary(rounded, Unary::Clamp, range.low, range.high) * scale);
  const Tensor zero = as_floating(op, spread(op, 2, axis));
  op.set((unary(rounded + zero, Unary::Clamp, range.low, range.high) - zero) * scale);
}

}  // namespace ferry::onnx
