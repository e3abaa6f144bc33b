// Operators on the bits of integers. Known values are computed in 64 bits; activations are taken apart bit by bit.
#include <optional>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;

Tensor with(Binary kind, Tensor x, double value) { return binary(kind, x, scalar(x, value)); }

int bits_of(Type type) { return std::min(type_bits(type), 32); }

// The common bits of two's complements: Mod by 2 returns the lowest bit, of negative integers, too.
Tensor common_bits(Tensor a, Tensor b, int bits) {
  std::optional<Tensor> sum;
  for (int i = 0; i < bits; ++i) {
    const Tensor low_a = with(Binary::Mod, a, 2), low_b = with(Binary::Mod, b, 2);
    Tensor both = binary(Binary::Mul, low_a, low_b);
    if (i > 0) both = with(Binary::Mul, both, i == 31 ? -0x1p31 : static_cast<double>(1 << i));
    sum = sum ? binary(Binary::Add, *sum, both) : both;
    a = with(Binary::Div, binary(Binary::Sub, a, low_a), 2);
    b = with(Binary::Div, binary(Binary::Sub, b, low_b), 2);
  }
  return *sum;
}

// A known scalar 2^n - 1 as a mask: 2^n.
std::optional<double> power_above(const Op& op, size_t i) {
  if (!op.known(i) || op.array(i, "a mask").elements() != 1) return {};
  const int64_t mask = op.array(i, "a mask").ints().front();
  if (mask < 1 || mask >= 1 << 30 || (mask & (mask + 1)) != 0) return {};
  return static_cast<double>(mask + 1);
}

void check_integers(const Op& op) {
  if (is_float(op.type(0)) || op.type(0) == Type::Bool)
    op.refuse("inputs are %s, expected integers", type_name(op.type(0)).c_str());
}

// Signed integers of 32 bits.
Tensor bitwise_and_of(Op& op) {
  for (const size_t mask : {0, 1})
    if (const auto power = power_above(op, mask)) {
      const Tensor x = op.tensor(1 - mask);
      return with(Binary::Mod, x, *power);
    }
  return common_bits(op.tensor(0), op.tensor(1), bits_of(op.type(0)));
}

}  // namespace

void bitwise_and(Op& op) {
  check_integers(op);
  if (op.known())
    return op.set(combine_integers(op.array(0, "A"), op.array(1, "B"), [](int64_t a, int64_t b) { return a & b; }));
  op.set(wrapped(bitwise_and_of(op), op.type(0)), op.type(0));
}

// a | b = a + b - (a & b)
void bitwise_or(Op& op) {
  check_integers(op);
  if (op.known())
    return op.set(combine_integers(op.array(0, "A"), op.array(1, "B"), [](int64_t a, int64_t b) { return a | b; }));
  const Tensor sum = binary(Binary::Add, op.tensor(0), op.tensor(1));
  op.set(wrapped(binary(Binary::Sub, sum, bitwise_and_of(op)), op.type(0)), op.type(0));
}

// a ^ b = a + b - 2 (a & b)
void bitwise_xor(Op& op) {
  check_integers(op);
  if (op.known())
    return op.set(combine_integers(op.array(0, "A"), op.array(1, "B"), [](int64_t a, int64_t b) { return a ^ b; }));
  const Tensor sum = binary(Binary::Add, op.tensor(0), op.tensor(1));
  op.set(wrapped(binary(Binary::Sub, sum, with(Binary::Mul, bitwise_and_of(op), 2)), op.type(0)), op.type(0));
}

// ~x = -1 - x
void bitwise_not(Op& op) {
  check_integers(op);
  if (op.known()) {
    const Array& x = op.array(0, "X");
    return op.set(
        combine_integers(x, make_array(x.type, {}, std::vector<int64_t>{0}), [](int64_t a, int64_t) { return ~a; }));
  }
  if (op.type(0) == Type::UInt32 || op.type(0) == Type::UInt64)
    op.refuse("the complement of %s exceeds 32 signed bits", type_name(op.type(0)).c_str());
  const Tensor x = op.tensor(0);
  op.set(wrapped(binary(Binary::Sub, scalar(x, -1), x), op.type(0)), op.type(0));
}

// ONNX has it for unsigned integers only.
void bit_shift(Op& op) {
  check_integers(op);
  const std::string direction = op.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    op.refuse("attribute 'direction' is '%s', expected LEFT or RIGHT", direction.c_str());
  const bool left = direction == "LEFT";
  const int bits = type_bits(op.type(0));
  if (op.known())
    return op.set(combine_integers(op.array(0, "X"), op.array(1, "Y"), [&](int64_t x, int64_t y) {
      if (y < 0 || y >= bits) return int64_t{0};
      const auto value = static_cast<uint64_t>(x);
      return static_cast<int64_t>(left ? value << y : value >> y);
    }));
  if (!op.known(1)) op.refuse("the number of bits depends on the graph's inputs, expected a constant");
  const Array& shift = op.array(1, "Y");
  std::vector<int64_t> factors = shift.ints();
  for (int64_t& factor : factors) {
    if (factor < 0 || factor > 30) op.refuse("a shift by %lld bits, at most 30", static_cast<long long>(factor));
    factor = int64_t{1} << factor;
  }
  // A product may be refused, where it can exceed 32 bits.
  const microsoft::Argument powers = make_array(Type::Int64, shift.dims, factors);
  const microsoft::Argument x = microsoft::argument(op, 0);
  if (left) return op.set(wrapped(microsoft::call(op, mul, {x, powers}, {}), op.type(0)), op.type(0));
  op.set(binary(Binary::Div, op.tensor(0), microsoft::tensor_of(op, powers)), op.type(0));
}

}  // namespace ferry::onnx
