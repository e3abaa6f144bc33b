// Matrix products. With constant weights they become linear layers.
#include <algorithm>
#include <numeric>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// Maximum number of integer products that an unrolled matrix product stores at once.
constexpr int kMaxProducts = 1 << 22;

std::vector<int> swap_last(size_t rank) {
  std::vector<int> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

Tensor swap_last(Tensor x) {
  const std::vector<int> perm = swap_last(static_cast<size_t>(x.shape().rank));
  return transpose(x, std::vector<int32_t>(perm.begin(), perm.end()));
}

// Removes leading dimensions of 1: the weight is the same for all matrices.
Array without_leading_ones(Array a) {
  Dims dims = a.dims;
  while (dims.size() > 2 && dims.front() == 1) dims.erase(dims.begin());
  return a.reshaped(dims);
}

// x [...,K] times `weight` [N,K], transposed.
Tensor linear(Op& op, Tensor x, const std::string& name, const Array& weight, std::optional<Tensor> bias = {}) {
  std::vector<Tensor> inputs = {x, add_constant(op.graph(), name, weight)};
  if (bias) inputs.push_back(*bias);
  return op.graph().add_op("", fbs::LinearT{}, inputs);
}

// a [...,M,K] times b [...,N,K] transposed: all products, then the sum over K.
Tensor multiply_integers(Op& op, Tensor a, Tensor b) {
  Dims left = dims_of(a), right = dims_of(b);
  left.insert(left.end() - 1, 1);  // [...,M,1,K]
  right.insert(right.end() - 2, 1);
  if (count_elements(broadcast(left, right)) > kMaxProducts)
    op.refuse("integers of %s and %s are multiplied as matrices, expected up to %d products",
              to_string(dims_of(a)).c_str(), to_string(dims_of(b)).c_str(), kMaxProducts);
  const Tensor products = reshape_to(a, left) * reshape_to(b, right);
  return reduce(products, fbs::ReduceKind::Sum, {products.shape().rank - 1}, false);
}

}  // namespace

Tensor multiply(Op& op, Tensor a, Tensor b, bool transpose_a, bool transpose_b) {
  const Dims left = dims_of(a), right = dims_of(b);
  if (left[left.size() - (transpose_a ? 2 : 1)] != right[right.size() - (transpose_b ? 1 : 2)])
    op.refuse("%s%s and %s%s do not multiply", to_string(left).c_str(), transpose_a ? " transposed" : "",
              to_string(right).c_str(), transpose_b ? " transposed" : "");
  // throws if the shapes are incompatible
  broadcast(Dims(left.begin(), left.end() - 2), Dims(right.begin(), right.end() - 2));
  if (op.graph().at(a.id).dtype != fbs::DType::Int32) return ferry::matmul(a, b, transpose_a, transpose_b);
  return multiply_integers(op, transpose_a ? swap_last(a) : a, transpose_b ? b : swap_last(b));
}

void matmul(Op& op) {
  const size_t left = op.dims(0).size(), right = op.dims(1).size();
  if (left == 0 || right == 0) op.refuse("a scalar is multiplied as a matrix");
  if (right == 1 && op.known(1)) {
    const Array& b = op.array(1, "B");
    const Tensor y = linear(op, op.tensor(0), op.input_name(1), b.reshaped({1, b.dims[0]}));
    Dims dims = dims_of(y);
    dims.pop_back();
    return op.set(reshape_to(y, dims));
  }
  // The result keeps leading dimensions of 1 that a weight has beyond the other factor's.
  const auto set_product = [&](Tensor y) {
    Dims dims = dims_of(y);
    while (dims.size() + (left == 1 ? 1 : 0) < std::max(left, right)) dims.insert(dims.begin(), 1);
    op.set(reshape_to(y, dims));
  };
  if (op.known(1)) {
    const Array b = without_leading_ones(op.array(1, "B"));
    if (b.dims.size() == 2) return set_product(linear(op, op.tensor(0), op.input_name(1), transpose(b, {1, 0})));
  }
  if (op.known(0) && left > 1 && right > 1) {
    const Array a = without_leading_ones(op.array(0, "A"));
    if (a.dims.size() == 2) return set_product(swap_last(linear(op, swap_last(op.tensor(1)), op.input_name(0), a)));
  }
  Tensor a = op.tensor(0), b = op.tensor(1);
  if (left == 1) a = reshape_to(a, {1, op.dims(0)[0]});
  if (right == 1) b = reshape_to(b, {op.dims(1)[0], 1});
  Tensor y = multiply(op, a, b);
  Dims dims = dims_of(y);
  if (right == 1) dims.pop_back();
  if (left == 1) dims.erase(dims.end() - (right == 1 ? 1 : 2));
  op.set(reshape_to(y, dims));
}

void gemm(Op& op) {
  const double alpha = op.number("alpha", 1), beta = op.number("beta", 1);
  for (const size_t i : {0, 1})
    if (op.rank(i) < 2) op.refuse("input %zu is %s, expected a matrix", i, to_string(op.dims(i)).c_str());
  Tensor a = op.tensor(0);
  const bool transpose_a = op.integer("transA", 0) != 0, transpose_b = op.integer("transB", 0) != 0;
  std::optional<Tensor> y;
  if (op.known(1)) {
    const Array& b = op.array(1, "B");
    if (b.dims.size() != 2) op.refuse("B is %s, expected a matrix", to_string(b.dims).c_str());
    Array weight = transpose_b ? b : transpose(b, {1, 0});
    if (transpose_a) a = swap_last(a);
    const bool plain = alpha == 1 && beta == 1 && op.known(2) && op.dims(2) == Dims{weight.dims[0]};
    if (plain) return op.set(linear(op, a, op.input_name(1), weight, op.tensor(2)));
    y = linear(op, a, op.input_name(1), weight);
  } else {
    y = multiply(op, a, op.tensor(1), transpose_a, transpose_b);
  }
  if (alpha != 1) y = *y * alpha;
  if (op.has(2) && beta != 0) y = *y + (beta == 1 ? op.tensor(2) : op.tensor(2) * beta);
  op.set(*y);
}

}  // namespace ferry::onnx
