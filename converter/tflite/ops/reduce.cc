// Reductions, and what selects by value.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

std::vector<int32_t> axes_of(const Op& op) {
  const int rank = op.shape(0).rank;
  std::vector<int32_t> axes;
  for (const int64_t axis : op.integers(1, "the axes")) axes.push_back(op.axis(axis, rank));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

void reduced(Op& op, fbs::ReduceKind kind) {
  op.set(reduce(op.tensor(0), kind, axes_of(op), op.options<schema::ReducerOptions>().keep_dims()));
}

// The index of the extreme element along the axis, the first of equal ones.
void extreme(Op& op, bool smallest) {
  Tensor x = op.tensor(0);
  const Shape shape = x.shape();
  const int axis = op.axis(op.integer(1, "the axis"), shape.rank);
  std::vector<int32_t> left = dims_of(x);
  left.erase(left.begin() + axis);
  if (axis != shape.rank - 1) {
    // Moves the axis to the end; the others keep their order.
    std::vector<int32_t> perm(static_cast<size_t>(shape.rank));
    std::iota(perm.begin(), perm.end(), 0);
    perm.erase(perm.begin() + axis);
    perm.push_back(axis);
    x = transpose(x, perm);
  }
  fbs::TopKT params;
  params.smallest = smallest;
  op.set(reshape_to(op.graph().add_op("", params, {x}), left));
}

}  // namespace

void mean(Op& op) { reduced(op, fbs::ReduceKind::Mean); }
void sum(Op& op) { reduced(op, fbs::ReduceKind::Sum); }
void reduce_max(Op& op) { reduced(op, fbs::ReduceKind::Max); }
void reduce_min(Op& op) { reduced(op, fbs::ReduceKind::Min); }
void reduce_prod(Op& op) { reduced(op, fbs::ReduceKind::Prod); }
void reduce_any(Op& op) { reduced(op, fbs::ReduceKind::Max); }  // of 0 and 1
void reduce_all(Op& op) { reduced(op, fbs::ReduceKind::Min); }
void arg_max(Op& op) { extreme(op, false); }
void arg_min(Op& op) { extreme(op, true); }

void topk_v2(Op& op) {
  const Tensor x = op.tensor(0);
  const int rank = x.shape().rank;
  if (rank < 1) op.refuse("its input is a scalar");
  const int64_t k = op.integer(1, "k");
  if (k < 1 || k > x.shape()[rank - 1]) op.refuse("k is %lld", static_cast<long long>(k));
  fbs::TopKT params;
  params.k = static_cast<int32_t>(k);
  const Tensor indices = op.graph().add_op("", params, {x});
  fbs::GatherT by_index;
  by_index.kind = fbs::GatherKind::Elements;
  by_index.axis = rank - 1;
  op.set(0, op.graph().add_op("", by_index, {x, indices}));
  op.set(1, indices);
}

// x / max(the length of the last dimension, 1e-6).
void l2_normalization(Op& op) {
  constexpr float kLeast = 1e-6f;
  const Tensor x = op.tensor(0);
  const Tensor squares = reduce(unary(x, fbs::UnaryKind::Square), fbs::ReduceKind::Sum, {x.shape().rank - 1}, true);
  const Tensor length = clamp(unary(squares, fbs::UnaryKind::Sqrt), kLeast, kInfinity);
  op.set(activated(op, binary(fbs::BinaryKind::Div, x, length),
                   op.options<schema::L2NormOptions>().fused_activation_function()));
}

// x / (bias + alpha * the sum of squares of the channels within the radius) ^ beta.
void local_response_normalization(Op& op) {
  constexpr int32_t kMaxChannels = 1 << 12;
  const auto& o = op.options<schema::LocalResponseNormalizationOptions>();
  const Tensor x = op.tensor(0);
  if (x.shape().rank < 1) op.refuse("its input is a scalar");
  const int32_t n = x.shape()[x.shape().rank - 1];
  if (n > kMaxChannels) op.refuse("it has %d channels, at most %d", n, kMaxChannels);
  op.count_computed(int64_t{n} * n);
  std::vector<double> band;
  for (int32_t from = 0; from < n; ++from)
    for (int32_t to = 0; to < n; ++to)
      band.push_back(std::abs(from - to) <= o.radius() ? static_cast<double>(o.alpha()) : 0);
  const Tensor squares = matmul(unary(x, fbs::UnaryKind::Square), op.graph().add_constant("", Shape{n, n}, band));
  const Tensor base = squares + static_cast<double>(o.bias());
  op.set(binary(fbs::BinaryKind::Div, x, binary(fbs::BinaryKind::Pow, base, scalar(x, static_cast<double>(o.beta())))));
}

}  // namespace ferry::tflite
