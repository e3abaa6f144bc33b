// Activations, alone and fused with a bias.
#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

using Unary = fbs::UnaryKind;

struct Activation {
  std::string_view name;
  OpFunction function;
};

constexpr Activation kActivations[] = {
    {"Celu", onnx::celu},
    {"Elu", onnx::elu},
    {"Gelu", onnx::gelu},
    {"HardSigmoid", onnx::hard_sigmoid},
    {"HardSwish", onnx::hard_swish},
    {"LeakyRelu", onnx::leaky_relu},
    {"Mish", onnx::mish},
    {"Relu", onnx::relu},
    {"Selu", onnx::selu},
    {"Sigmoid", onnx::sigmoid},
    {"Softplus", onnx::softplus},
    {"Softsign", onnx::softsign},
    {"Tanh", onnx::tanh},
    {"ThresholdedRelu", onnx::thresholded_relu},
};

Tensor with_bias(Op& op) { return op.has(1) ? op.tensor(0) + op.tensor(1) : op.tensor(0); }

}  // namespace

Tensor activated(Op& op, Tensor x, const std::string& name, const Attributes& parameters) {
  if (name.empty()) return x;
  for (const Activation& activation : kActivations)
    if (activation.name == name) return call(op, activation.function, {x}, parameters);
  std::string known;
  for (const Activation& activation : kActivations) known += (known.empty() ? "" : ", ") + std::string(activation.name);
  op.refuse("attribute 'activation' is '%s', expected one of %s", name.c_str(), known.c_str());
}

void bias_add(Op& op) { op.set(op.tensor(0) + op.tensor(1) + op.tensor(2)); }

// Without the mask, an output of bits.
void bitmask_dropout(Op& op) {
  if (op.has(2) && op.single(2, "training_mode") != 0) op.refuse("it is in training mode");
  op.set(op.tensor(0));
}

// The same with a bias and a sum.
void bias_dropout(Op& op) {
  if (op.has(4) && op.single(4, "training_mode") != 0) op.refuse("it is in training mode");
  Tensor y = op.tensor(0) + op.tensor(1);
  if (op.has(2)) y = y + op.tensor(2);
  op.set(y);
}

void bias_gelu(Op& op) { op.set(unary(with_bias(op), Unary::Gelu)); }
void fast_gelu(Op& op) { op.set(unary(with_bias(op), Unary::GeluTanh)); }

void quick_gelu(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(x * unary(x * op.number("alpha", 1.702), Unary::Sigmoid));
}

// The bias has the last dimensions of the data, or its first ones with the broadcast dimensions absent.
void bias_softmax(Op& op) {
  const Dims dims = op.dims(0);
  Dims bias = op.dims(1);
  const int axis = op.axis(op.integer("axis", 1), op.rank(0));
  if (bias.size() < dims.size()) {
    // Inner: the dimensions just before the axis are missing; outer: the first ones.
    const size_t missing = dims.size() - bias.size();
    const bool inner = op.integer("is_inner_broadcast", 0) != 0;
    if (inner && static_cast<size_t>(axis) < missing)
      op.refuse("a bias of %s for data of %s", to_string(op.dims(1)).c_str(), to_string(dims).c_str());
    bias.insert(bias.begin() + (inner ? axis - static_cast<int>(missing) : 0), missing, 1);
  }
  const Tensor scores = op.tensor(0) + reshape_to(op.tensor(1), bias);
  // Over all dimensions from the axis on.
  Dims flat(dims.begin(), dims.begin() + axis);
  flat.push_back(count_elements(Dims(dims.begin() + axis, dims.end())));
  op.set(reshape_to(ferry::softmax(reshape_to(scores, flat)), dims));
}

void bias_split_gelu(Op& op) {
  const Tensor x = with_bias(op);
  const int axis = x.shape().rank - 1, half = axis < 0 ? 0 : x.shape()[axis] / 2;
  if (half == 0 || half * 2 != x.shape()[axis])
    op.refuse("an input of %s, expected an even number of channels", to_string(dims_of(x)).c_str());
  op.set(ferry::slice(x, axis, 0, half) * unary(ferry::slice(x, axis, half, half), Unary::Gelu));
}

void gated_add(Op& op) { op.set(op.tensor(0) + op.tensor(1) * op.tensor(2)); }

void linear_attention_gate(Op& op) {
  op.set(0, ferry::softplus(op.tensor(0) + op.tensor(1)) * op.tensor(2));
  if (op.wants(1)) op.set(1, unary(op.tensor(3), Unary::Sigmoid));
}

}  // namespace ferry::onnx::microsoft
