// Convolutions and matrix products with a fused activation, sum or transposition, or in another layout.
#include <numeric>

#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

// The activation of a convolution: its parameters are a list, in the order of the activation's attributes.
Tensor activate_convolution(Op& op, Tensor y) {
  const std::string name = op.text("activation", "");
  const std::vector<double> list = op.numbers("activation_params");
  if (name == "Clip") {
    if (list.size() != 2) op.refuse("attribute 'activation_params' has %zu values, Clip needs 2", list.size());
    return unary(y, fbs::UnaryKind::Clamp, list[0], list[1]);
  }
  Attributes parameters;
  const char* names[] = {"alpha", "beta"};
  if (list.size() > std::size(names)) op.refuse("attribute 'activation_params' has %zu values", list.size());
  for (size_t i = 0; i < list.size(); ++i) parameters[names[i]] = attribute(list[i]);
  return activated(op, y, name, parameters);
}

// The activation of a product: its parameters are attributes with a prefix.
Attributes activation_parameters(Op& op) {
  Attributes parameters;
  for (const char* name : {"alpha", "beta", "gamma"})
    if (op.has_attribute(std::string("activation_") + name))
      parameters[name] = attribute(op.number(std::string("activation_") + name, 0));
  return parameters;
}

Tensor convolution(Op& op, const Argument& x) { return call(op, onnx::conv, {x, argument(op, 1), argument(op, 2)}); }

// Moves the first dimension behind the other batch dimensions: [M,B...,K] to [B...,M,K].
std::vector<int> batch_permutation(int rank) {
  std::vector<int> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 1);
  perm[static_cast<size_t>(rank) - 2] = 0;
  perm[static_cast<size_t>(rank) - 1] = rank - 1;
  return perm;
}

// Input i of a product, transposed as its attributes say.
Argument operand(Op& op, size_t i, const char* batch, const char* last) {
  Argument x = argument(op, i);
  const int rank = op.rank(i);
  if (rank < 2) return x;
  std::vector<int> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (op.integer(batch, 0) != 0) perm = batch_permutation(rank);
  if (op.integer(last, 0) != 0) std::swap(perm[static_cast<size_t>(rank) - 1], perm[static_cast<size_t>(rank) - 2]);
  if (const Array* array = std::get_if<Array>(&x.value)) return Argument(onnx::transpose(*array, perm));
  return Argument(ferry::transpose(op.tensor(i), std::vector<int32_t>(perm.begin(), perm.end())), x.type);
}

Tensor product(Op& op) {
  const Tensor y =
      call(op, onnx::matmul, {operand(op, 0, "transBatchA", "transA"), operand(op, 1, "transBatchB", "transB")}, {});
  const double alpha = op.number("alpha", 1);
  return alpha == 1 ? y : y * alpha;
}

}  // namespace

Tensor channels_to_front(Tensor x) {
  if (x.shape().rank < 3) return x;
  std::vector<int32_t> perm(static_cast<size_t>(x.shape().rank));
  std::iota(perm.begin(), perm.end(), -1);
  perm[0] = 0;
  perm[1] = x.shape().rank - 1;
  return ferry::transpose(x, perm);
}

Tensor channels_to_back(Tensor x) {
  if (x.shape().rank < 3) return x;
  std::vector<int32_t> perm(static_cast<size_t>(x.shape().rank));
  std::iota(perm.begin(), perm.end(), 1);
  perm[0] = 0;
  perm.back() = 1;
  return ferry::transpose(x, perm);
}

void with_channels_first(Op& op, bool always, OpFunction function) {
  if (!always && op.integer("channels_last", 0) == 0) return as_standard(op, function);
  std::vector<Argument> inputs = {Argument(channels_to_front(op.tensor(0)), op.type(0))};
  for (size_t i = 1; i < op.input_count(); ++i) inputs.push_back(argument(op, i));
  const Argument y = call_all(op, function, inputs, op.node().attributes, 1).front();
  op.set(channels_to_back(tensor_of(op, y)), y.type);
}

void fused_conv(Op& op) {
  Tensor y = convolution(op, argument(op, 0));
  if (op.has(3)) y = y + op.tensor(3);
  op.set(activate_convolution(op, y));
}

void nhwc_conv(Op& op) { op.set(channels_to_back(convolution(op, channels_to_front(op.tensor(0))))); }

void nhwc_fused_conv(Op& op) {
  Tensor y = channels_to_back(convolution(op, channels_to_front(op.tensor(0))));
  if (op.has(3)) y = y + op.tensor(3);
  op.set(activate_convolution(op, y));
}

void nhwc_max_pool(Op& op) { with_channels_first(op, true, onnx::max_pool); }

void fused_gemm(Op& op) {
  const Tensor y = call(op, onnx::gemm, {argument(op, 0), argument(op, 1), argument(op, 2)});
  op.set(activated(op, y, op.text("activation", ""), activation_parameters(op)));
}

void fused_matmul(Op& op) { op.set(product(op)); }

void fused_matmul_activation(Op& op) {
  const std::string name = op.text("activation", "");
  const Tensor y = product(op);
  if (name == "Softmax")
    return op.set(call(op, onnx::softmax, {y}, {{"axis", attribute(op.integer("activation_axis", -1))}}));
  op.set(activated(op, y, name, activation_parameters(op)));
}

void gemm_fast_gelu(Op& op) {
  Tensor y = call(op, onnx::matmul, {argument(op, 0), argument(op, 1)});
  if (op.has(2)) y = y + op.tensor(2);
  op.set(unary(y, fbs::UnaryKind::GeluTanh));
}

}  // namespace ferry::onnx::microsoft
