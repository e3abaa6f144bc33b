// Arithmetic, comparisons and logic, element by element: on constants in the converter, on activations in the graph.
#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Function>
void arithmetic(Op& op, Binary kind, Function function) {
  if (op.known())
    op.set(combine(op.array(0, "A"), op.array(1, "B"), function));
  else
    op.set(binary(kind, op.tensor(0), op.tensor(1)));
}

int64_t divide(const Op& op, int64_t a, int64_t b) {
  if (b == 0) op.refuse("an integer is divided by zero");
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

// Of any number of inputs.
template <typename Function>
void accumulate(Op& op, Binary kind, Function function) {
  if (op.known()) {
    Array all = op.array(0, "input");
    for (size_t i = 1; i < op.input_count(); ++i) all = combine(all, op.array(i, "input"), function);
    op.set(all);
    return;
  }
  Tensor all = op.tensor(0);
  for (size_t i = 1; i < op.input_count(); ++i) all = binary(kind, all, op.tensor(i));
  op.set(all);
}

template <typename Function>
void predicate(Op& op, Function function) {
  op.set(combine(op.array(0, "A"), op.array(1, "B"), function, Type::Bool));
}

// On constants by the C library's function; on activations by ferry's operator of that kind.
void activation(Op& op, double (*function)(double), Unary kind) {
  if (op.known())
    op.set(map(op.array(0, "X"), function));
  else
    op.set(unary(op.tensor(0), kind));
}

void only_constants(Op& op, double (*function)(double)) { op.set(map(op.array(0, "X"), function)); }

}  // namespace

Tensor power(Op& op, Tensor x, double exponent) {
  if (exponent < 0) return binary(Binary::Div, scalar(op.graph(), 1), power(op, x, -exponent));
  const double whole = std::floor(exponent), rest = exponent - whole;
  std::optional<Tensor> result;
  const auto multiply = [&](Tensor y) { result = result ? *result * y : y; };
  if (whole > 64 || (rest != 0 && rest != 0.5 && rest != 0.25 && rest != 0.75))
    op.refuse("the exponent is %g, expected a multiple of 0.25 up to 64", exponent);
  Tensor square = x;
  for (auto bits = static_cast<unsigned>(whole); bits != 0; bits >>= 1) {
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
  const Array &a = op.array(0, "A"), &b = op.array(1, "B");
  const bool like_c = op.integer("fmod", 0) != 0;
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
  const std::vector<double> exponent = op.array(1, "the exponent").floats();
  if (exponent.empty() || std::any_of(exponent.begin(), exponent.end(), [&](double e) { return e != exponent[0]; }))
    op.refuse("the exponent has several values, expected one");
  if (op.array(1, "the exponent").dims.size() > op.dims(0).size()) op.refuse("the exponent broadcasts the base");
  op.set(power(op, op.tensor(0), exponent[0]));
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
  predicate(op, [](auto a, auto b) { return a == b; });
}
void less(Op& op) {
  predicate(op, [](auto a, auto b) { return a < b; });
}
void less_or_equal(Op& op) {
  predicate(op, [](auto a, auto b) { return a <= b; });
}
void greater(Op& op) {
  predicate(op, [](auto a, auto b) { return a > b; });
}
void greater_or_equal(Op& op) {
  predicate(op, [](auto a, auto b) { return a >= b; });
}
void logical_and(Op& op) {
  predicate(op, [](auto a, auto b) { return a != 0 && b != 0; });
}
void logical_or(Op& op) {
  predicate(op, [](auto a, auto b) { return a != 0 || b != 0; });
}
void logical_xor(Op& op) {
  predicate(op, [](auto a, auto b) { return (a != 0) != (b != 0); });
}
void logical_not(Op& op) {
  only_constants(op, [](double x) { return x == 0 ? 1.0 : 0.0; });
}

void where(Op& op) {
  const Array& condition = op.array(0, "the condition");
  const std::vector<int64_t> bits = condition.ints();
  if (op.known()) {
    const Array &a = op.array(1, "X"), &b = op.array(2, "Y");
    const Dims dims = broadcast(broadcast(condition.dims, a.dims), b.dims);
    op.set(select(expand(condition, dims).ints(), expand(a, dims), expand(b, dims)));
    return;
  }
  const bool first = !bits.empty() && bits[0] != 0;
  if (std::any_of(bits.begin(), bits.end(), [&](int64_t b) { return (b != 0) != first; })) {
    // What is not chosen becomes -inf; the larger of the two is what is chosen.
    std::vector<double> high, low;
    for (const int64_t b : bits) {
      high.push_back(b ? kInfinity : -kInfinity);
      low.push_back(b ? -kInfinity : kInfinity);
    }
    const auto limit = [&](const std::vector<double>& values) {
      return add_constant(op.graph(), op.node().inputs[0], make_array(Type::Float32, condition.dims, values));
    };
    return op.set(binary(Binary::Max, binary(Binary::Min, op.tensor(1), limit(high)),
                         binary(Binary::Min, op.tensor(2), limit(low))));
  }
  const Dims dims = broadcast(broadcast(condition.dims, op.dims(1)), op.dims(2));
  if (op.dims(first ? 1 : 2) != dims) op.refuse("the chosen side would have to be repeated");
  op.set(op.tensor(first ? 1 : 2));
}

void abs(Op& op) { activation(op, std::fabs, Unary::Abs); }
void neg(Op& op) {
  activation(
      op, [](double x) { return -x; }, Unary::Neg);
}
void exp(Op& op) { activation(op, std::exp, Unary::Exp); }
void sqrt(Op& op) { activation(op, std::sqrt, Unary::Sqrt); }
void tanh(Op& op) { activation(op, std::tanh, Unary::Tanh); }
void sigmoid(Op& op) {
  activation(
      op, [](double x) { return 1 / (1 + std::exp(-x)); }, Unary::Sigmoid);
}
void hard_swish(Op& op) {
  activation(
      op, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, Unary::HardSwish);
}
void floor(Op& op) { only_constants(op, std::floor); }
void ceil(Op& op) { only_constants(op, std::ceil); }
void round(Op& op) { only_constants(op, std::nearbyint); }  // halves to even, the default mode
void log(Op& op) { only_constants(op, std::log); }
void erf(Op& op) { only_constants(op, std::erf); }
void sin(Op& op) { only_constants(op, std::sin); }
void tan(Op& op) { only_constants(op, std::tan); }
void cos(Op& op) { only_constants(op, std::cos); }
void sign(Op& op) {
  only_constants(op, [](double x) { return static_cast<double>((x > 0) - (x < 0)); });
}

void reciprocal(Op& op) {
  if (op.known())
    op.set(map(op.array(0, "X"), [](double x) { return 1 / x; }));
  else
    op.set(binary(Binary::Div, scalar(op.graph(), 1), op.tensor(0)));
}

void relu(Op& op) { op.set(unary(op.tensor(0), Unary::Clamp, 0, kInfinity)); }
void leaky_relu(Op& op) { op.set(unary(op.tensor(0), Unary::LeakyRelu, op.number("alpha", 0.01))); }

void prelu(Op& op) { op.set(binary(Binary::PRelu, op.tensor(0), op.tensor(1))); }

void hard_sigmoid(Op& op) {
  const double alpha = op.number("alpha", 0.2), beta = op.number("beta", 0.5);
  const Tensor x = op.tensor(0);
  if (static_cast<float>(alpha) == 1.0f / 6 && beta == 0.5)
    op.set(unary(x, Unary::HardSigmoid));
  else
    op.set(unary(x * alpha + beta, Unary::Clamp, 0, 1));
}

void clip(Op& op) {
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
  // Where the bounds are crossed, the upper one holds.
  op.set(unary(op.tensor(0), Unary::Clamp, std::min(low, high), high));
}

namespace {

// alpha * (e^min(x,0) - 1), the negative side of ELU and its kin.
Tensor negative_side(Tensor x, double alpha) {
  return (unary(unary(x, Unary::Clamp, -kInfinity, 0), Unary::Exp) + -1.0) * alpha;
}
Tensor positive_side(Tensor x) { return unary(x, Unary::Clamp, 0, kInfinity); }

}  // namespace

void elu(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(positive_side(x) + negative_side(x, op.number("alpha", 1)));
}

void selu(Op& op) {
  const Tensor x = op.tensor(0);
  const double alpha = op.number("alpha", 1.67326319217681884765625),
               gamma = op.number("gamma", 1.05070102214813232421875);
  op.set((positive_side(x) + negative_side(x, alpha)) * gamma);
}

void celu(Op& op) {
  const Tensor x = op.tensor(0);
  const double alpha = op.number("alpha", 1);
  op.set(positive_side(x) + negative_side(x * (1 / alpha), alpha));
}

void softsign(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(binary(Binary::Div, x, unary(x, Unary::Abs) + 1.0));
}

// x * tanh(ln(1 + e^x)) = x * n / (n + 2) with n = e^x (e^x + 2); beyond 20 the quotient is 1 in float32.
void mish(Op& op) {
  const Tensor x = op.tensor(0), u = unary(unary(x, Unary::Clamp, -kInfinity, 20), Unary::Exp);
  const Tensor n = u * (u + 2.0);
  op.set(x * binary(Binary::Div, n, n + 2.0));
}

namespace {

// x * sigmoid(alpha * x).
Tensor swish(Tensor x, double alpha) {
  return alpha == 1 ? unary(x, Unary::Silu) : x * unary(x * alpha, Unary::Sigmoid);
}

}  // namespace

void swish(Op& op) { op.set(swish(op.tensor(0), op.number("alpha", 1))); }
void swiglu(Op& op) { op.set(swish(op.tensor(0), op.number("alpha", 1)) * op.tensor(1)); }

void gelu(Op& op) {
  const bool tanh = op.text("approximate", "none") == "tanh";
  op.set(unary(op.tensor(0), tanh ? Unary::GeluTanh : Unary::Gelu));
}

}  // namespace ferry::onnx
