// Binary and variadic elementwise arithmetic, comparisons and logic: folded for constants, operators for activations.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/integer_bound.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

template <typename Function>
void arithmetic(Op& op, Binary kind, Function function) {
  if (op.known())
    op.set(combine(op.array(0, "A"), op.array(1, "B"), function));
  else
    op.set(wrapped(binary(kind, op.tensor(0), op.tensor(1)), op.type(0)));
}

int64_t divide(const Op& op, int64_t a, int64_t b) {
  if (b == 0) op.refuse("an integer is divided by zero");
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

// Variadic: Sum, Max or Min.
template <typename Function>
void accumulate(Op& op, Binary kind, Function function) {
  if (op.known()) {
    Array all = op.array(0, "input");
    for (size_t i = 1; i < op.input_count(); ++i) all = combine(all, op.array(i, "input"), function);
    op.set(all);
    return;
  }
  const auto input = [&](size_t i) { return kind == Binary::Add ? op.tensor(i) : bound_in_32_bits(op, i); };
  Tensor all = input(0);
  for (size_t i = 1; i < op.input_count(); ++i) all = binary(kind, all, input(i));
  op.set(wrapped(all, op.type(0)));
}

// A comparison or logical operation; `swapped` exchanges the inputs.
template <typename Function>
void predicate(Op& op, Binary kind, Function function, bool swapped = false) {
  if (op.known())
    op.set(combine(op.array(0, "A"), op.array(1, "B"), function, Type::Bool));
  else
    op.set(binary(kind, op.tensor(swapped ? 1 : 0), op.tensor(swapped ? 0 : 1)), Type::Bool);
}

}  // namespace

// Uses multiplications and square roots if possible: they are faster.
Tensor power(Op& op, Tensor x, double exponent) {
  if (exponent < 0) return binary(Binary::Div, scalar(x, 1), power(op, x, -exponent));
  const double integer = std::floor(exponent), rest = exponent - integer;
  if (integer > 64 || (rest != 0 && rest != 0.5 && rest != 0.25 && rest != 0.75))
    return binary(Binary::Pow, x, scalar(x, exponent));
  std::optional<Tensor> result;
  const auto multiply = [&](Tensor y) { result = result ? *result * y : y; };
  Tensor square = x;
  for (auto bits = static_cast<unsigned>(integer); bits != 0; bits >>= 1) {
    if (bits & 1) multiply(square);
    if (bits > 1) square = unary(square, Unary::Square);
  }
  if (rest != 0) {
    const Tensor root = unary(x, Unary::Sqrt);
    if (rest != 0.25) multiply(root);
    if (rest != 0.5) multiply(unary(root, Unary::Sqrt));
  }
  return result ? *result : x * 0.0 + 1.0;
}

void add(Op& op) {
  arithmetic(op, Binary::Add, [](auto a, auto b) { return a + b; });
}
void sub(Op& op) {
  arithmetic(op, Binary::Sub, [](auto a, auto b) { return a - b; });
}
void mul(Op& op) {
  refuse_large_product(op);
  arithmetic(op, Binary::Mul, [](auto a, auto b) { return a * b; });
}

void div(Op& op) {
  if (op.known() && !is_float(op.array(0, "A").type))
    op.set(
        combine_integers(op.array(0, "A"), op.array(1, "B"), [&](int64_t a, int64_t b) { return divide(op, a, b); }));
  else
    arithmetic(op, Binary::Div, [](auto a, auto b) { return a / b; });
}

void mod(Op& op) {
  const bool like_c = op.integer("fmod", 0) != 0;
  if (!op.known())
    return op.set(wrapped(binary(like_c ? Binary::FMod : Binary::Mod, op.tensor(0), op.tensor(1)), op.type(0)));
  const Array &a = op.array(0, "A"), &b = op.array(1, "B");
  if (is_float(a.type)) {
    if (!like_c) op.refuse("attribute 'fmod' is 0, expected 1 for floating point");
    op.set(combine(a, b, [](auto x, auto y) { return std::fmod(static_cast<double>(x), static_cast<double>(y)); }));
    return;
  }
  op.set(combine_integers(a, b, [&](int64_t x, int64_t y) {
    if (y == 0) op.refuse("an integer is divided by zero");
    if (y == -1) return int64_t{0};
    const int64_t rest = x % y;
    return !like_c && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }));
}

void pow(Op& op) {
  if (op.known()) {
    op.set(cast(combine(
                    op.array(0, "X"), op.array(1, "Y"),
                    [](auto a, auto b) { return std::pow(static_cast<double>(a), static_cast<double>(b)); },
                    is_float(op.array(0, "X").type) ? Type::Undefined : Type::Float64),
                op.array(0, "X").type));
    return;
  }
  if (op.known(1) && op.array(1, "Y").elements() == 1 && is_float(op.type(0)) && op.rank(1) <= op.rank(0))
    return op.set(power(op, op.tensor(0), op.single(1, "Y")));
  const bool integers = !is_float(op.type(0)) && !is_float(op.type(1));
  const Tensor y =
      integers ? binary(Binary::Pow, op.tensor(0), op.tensor(1)) : binary(Binary::Pow, op.floating(0), op.floating(1));
  op.set(is_float(op.type(0)) ? y : cast_to(wrapped(y, op.type(0)), to_dtype(op.type(0))));
}

void sum(Op& op) {
  accumulate(op, Binary::Add, [](auto a, auto b) { return a + b; });
}
void max(Op& op) {
  accumulate(op, Binary::Max, [](auto a, auto b) { return a > b ? a : b; });
}
void min(Op& op) {
  accumulate(op, Binary::Min, [](auto a, auto b) { return a < b ? a : b; });
}
void mean(Op& op) {
  Tensor all = op.tensor(0);
  for (size_t i = 1; i < op.input_count(); ++i) all = all + op.tensor(i);
  op.set(all * (1.0 / static_cast<double>(op.input_count())));
}

void equal(Op& op) {
  predicate(op, Binary::Equal, [](auto a, auto b) { return a == b; });
}
void less(Op& op) {
  predicate(op, Binary::Less, [](auto a, auto b) { return a < b; });
}
void less_or_equal(Op& op) {
  predicate(op, Binary::LessOrEqual, [](auto a, auto b) { return a <= b; });
}
void greater(Op& op) {
  predicate(
      op, Binary::Less, [](auto a, auto b) { return a > b; }, true);
}
void greater_or_equal(Op& op) {
  predicate(
      op, Binary::LessOrEqual, [](auto a, auto b) { return a >= b; }, true);
}
void logical_and(Op& op) {
  predicate(op, Binary::And, [](auto a, auto b) { return a != 0 && b != 0; });
}
void logical_or(Op& op) {
  predicate(op, Binary::Or, [](auto a, auto b) { return a != 0 || b != 0; });
}
void logical_xor(Op& op) {
  predicate(op, Binary::Xor, [](auto a, auto b) { return (a != 0) != (b != 0); });
}
void where(Op& op) {
  if (op.known()) {
    const Array &condition = op.array(0, "condition"), &a = op.array(1, "X"), &b = op.array(2, "Y");
    const Dims dims = broadcast(broadcast(condition.dims, a.dims), b.dims);
    op.set(select(expand(condition, dims).ints(), expand(a, dims), expand(b, dims)));
    return;
  }
  if (op.known(0)) {
    // A uniform condition selects one side.
    const std::vector<int64_t> bits = op.array(0, "condition").ints();
    const bool first = !bits.empty() && bits[0] != 0;
    const Dims dims = broadcast(broadcast(op.dims(0), op.dims(1)), op.dims(2));
    const bool same = std::all_of(bits.begin(), bits.end(), [&](int64_t b) { return (b != 0) == first; });
    if (same && op.dims(first ? 1 : 2) == dims) return op.set(op.value(first ? 1 : 2), op.type(1));
  }
  op.set(select(op.tensor(0), op.tensor(1), op.tensor(2)), op.type(1));
}

void clip(Op& op) {
  const bool bounds_known = (!op.has(1) || op.known(1)) && (!op.has(2) || op.known(2));
  if (!bounds_known || (!op.known() && !is_float(op.type(0)))) {
    Tensor y = op.tensor(0);
    if (op.has(1)) y = binary(Binary::Max, y, bound_in_32_bits(op, 1));
    if (op.has(2)) y = binary(Binary::Min, y, bound_in_32_bits(op, 2));
    return op.set(y);
  }
  const auto bound = [&](size_t i, const char* name, double otherwise) {
    if (op.opset() < 11) return op.number(name, otherwise);
    if (!op.has(i)) return otherwise;
    return op.single(i, name);
  };
  const double low = bound(1, "min", -kInfinity), high = bound(2, "max", kInfinity);
  if (op.known() && !is_float(op.array(0, "input").type)) {
    op.set(map(op.array(0, "input"), [low, high](double x) { return std::min(std::max(x, low), high); }));
    return;
  }
  // If min > max, max takes precedence.
  op.set(unary(op.tensor(0), Unary::Clamp, std::min(low, high), high));
}

}  // namespace ferry::onnx
