// Matrix products.
#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

constexpr int32_t kMaxSummed = 1 << 12;  // elements of a cumulative sum, computed as a product with a triangle

}  // namespace

void fully_connected(Op& op) {
  const auto& o = op.options<schema::FullyConnectedOptions>();
  if (o.weights_format() != schema::FullyConnectedOptionsWeightsFormat::DEFAULT)
    op.refuse("its weights are shuffled for 8-bit kernels");
  if (!op.has(1)) op.refuse("the weights (input 1) are missing");
  const Tensor weights = op.known(1) ? op.weight(1, "the weights") : op.tensor(1);
  const Shape x = op.shape(0), w = weights.shape();
  if (w.rank != 2) op.refuse("the weights have %d dimensions, expected 2", w.rank);
  if (x.elements() % w[1] != 0) op.refuse("an input %s does not divide into rows of %d", to_string(x).c_str(), w[1]);
  std::vector<int32_t> rows = dims_of(op.tensor(0));
  const bool fits = x.rank >= 1 && x[x.rank - 1] == w[1];
  if (o.keep_num_dims() && !fits) op.refuse("an input %s for weights of %d inputs", to_string(x).c_str(), w[1]);
  if (!o.keep_num_dims() && !(fits && x.rank == 2)) rows = {static_cast<int32_t>(x.elements() / w[1]), w[1]};
  const Tensor flat = reshape_to(op.tensor(0), rows);
  Tensor y;
  if (op.known(1)) {
    std::vector<Tensor> inputs = {flat, weights};
    if (op.has(2)) inputs.push_back(op.weight(2, "the bias"));
    y = op.graph().add_op("", fbs::LinearT{}, inputs);
  } else {
    y = matmul(flat, weights, false, true);
    if (op.has(2)) y = y + op.tensor(2);
  }
  op.set(activated(op, y, o.fused_activation_function()));
}

void batch_matmul(Op& op) {
  const auto& o = op.options<schema::BatchMatMulOptions>();
  op.set(matmul(op.tensor(0), op.tensor(1), o.adj_x(), o.adj_y()));
}

void cumsum(Op& op) {
  const auto& o = op.options<schema::CumsumOptions>();
  const Tensor x = op.tensor(0);
  const Shape shape = x.shape();
  if (x.dtype() != fbs::DType::Float32) op.refuse("its input is integer, expected float32");
  if (op.axis(op.integer(1, "the axis"), shape.rank) != shape.rank - 1) op.refuse("its axis is not the last one");
  const int32_t n = shape[shape.rank - 1];
  if (n > kMaxSummed) op.refuse("it sums %d elements, at most %d", n, kMaxSummed);
  op.count_computed(int64_t{n} * n);
  std::vector<double> triangle;
  for (int32_t from = 0; from < n; ++from)
    for (int32_t to = 0; to < n; ++to) {
      const int32_t ahead = o.reverse() ? from - to : to - from;
      triangle.push_back(ahead > 0 || (ahead == 0 && !o.exclusive()) ? 1 : 0);
    }
  op.set(matmul(x, op.graph().add_constant("", Shape{n, n}, std::move(triangle))));
}

}  // namespace ferry::tflite
