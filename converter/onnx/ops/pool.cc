// Pools. Ferry's own has height and width; along the depth, and where a kernel is dilated, what its cells see is compared or
// added one by one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Side> pool_sides(Op& op) {
  if (!op.has_attribute("kernel_shape")) op.refuse("attribute 'kernel_shape' is missing");
  const size_t count = static_cast<size_t>(std::max(op.rank(0) - 2, 0));
  return read_sides(op, read_positive(op, "kernel_shape", count));
}

struct Pool {
  fbs::PoolKind kind;
  bool ceil_mode, count_padding;
};

// How many places each window along a side averages over, as a factor for [N,C,...].
Tensor shares(Op& op, const Side& s, const Pool& pool, int axis) {
  Dims dims(op.dims(0).size(), 1);
  std::vector<double> values;
  for (int64_t i = 0; i < s.outputs(pool.ceil_mode); ++i) {
    int64_t count = 0;
    for (int64_t k = 0; k < s.kernel; ++k) {
      const int64_t place = i * s.stride + k * s.dilation - s.before;
      count += pool.count_padding ? place < s.size + s.after : place >= 0 && place < s.size;
    }
    values.push_back(1.0 / static_cast<double>(std::max<int64_t>(count, 1)));
  }
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(values.size());
  return add_constant(op.graph(), op.node().name + ".shares", make_array(Type::Float64, dims, values));
}

// Along one axis, cell by cell.
Tensor pool_side(Op& op, Tensor x, int axis, const Side& s, const Pool& pool) {
  const bool max = pool.kind == fbs::PoolKind::Max;
  if (s.kernel > 256) op.refuse("a kernel of %lld, at most 256 here", static_cast<long long>(s.kernel));
  const auto cell = [&](int64_t k) {
    return seen_by_cell(op, x, axis, s, s.outputs(pool.ceil_mode), k, max ? -kInfinity : 0);
  };
  Tensor all = cell(0);
  for (int64_t k = 1; k < s.kernel; ++k) all = binary(max ? fbs::BinaryKind::Max : fbs::BinaryKind::Add, all, cell(k));
  return max ? all : all * shares(op, s, pool, axis);
}

Tensor pooled(Op& op, Tensor x, std::vector<Side> sides, const Pool& pool) {
  for (size_t i = 0; i < sides.size(); ++i) {
    const bool depth = sides.size() == 3 && i == 0;
    if (!depth && sides[i].dilation == 1) continue;
    x = pool_side(op, x, static_cast<int>(2 + i), sides[i], pool);
    sides[i] = Side{};
  }
  fbs::Pool2dT params;
  params.kind = pool.kind;
  params.kernel_h = sides.size() > 1 ? static_cast<int32_t>(sides[sides.size() - 2].kernel) : 1;
  params.kernel_w = static_cast<int32_t>(sides.back().kernel);
  set_window(sides, &params);
  params.ceil_mode = pool.ceil_mode;
  params.count_include_pad = pool.count_padding;
  const bool nothing_left = std::all_of(sides.begin(), sides.end(), [](const Side& s) {
    return s.kernel == 1 && s.stride == 1 && s.before == 0 && s.after == 0;
  });
  if (nothing_left) return x;
  return from_maps(op.graph().add_op("", params, {to_maps(x)}), sides.size(), op.dims(0)[0]);
}

}  // namespace

void max_pool(Op& op) {
  op.set(pooled(op, op.tensor(0), pool_sides(op), {fbs::PoolKind::Max, op.integer("ceil_mode", 0) != 0, false}));
}

void average_pool(Op& op) {
  const bool count_padding = op.integer("count_include_pad", 0) != 0;
  op.set(pooled(op, op.tensor(0), pool_sides(op),
                {fbs::PoolKind::Average, op.integer("ceil_mode", 0) != 0, count_padding}));
}

// The p-norm of what a window sees: its mean, times the places that were counted.
void lp_pool(Op& op) {
  const int64_t p = op.integer("p", 2);
  if (p != 1 && p != 2) op.refuse("attribute 'p' is %lld, expected 1 or 2", static_cast<long long>(p));
  const std::vector<Side> sides = pool_sides(op);
  const Pool pool{fbs::PoolKind::Average, op.integer("ceil_mode", 0) != 0, true};
  Tensor sums = pooled(op, unary(op.tensor(0), p == 1 ? fbs::UnaryKind::Abs : fbs::UnaryKind::Square), sides, pool);
  for (size_t i = 0; i < sides.size(); ++i)
    sums = binary(fbs::BinaryKind::Div, sums, shares(op, sides[i], pool, static_cast<int>(2 + i)));
  op.set(p == 1 ? sums : unary(sums, fbs::UnaryKind::Sqrt));
}

}  // namespace ferry::onnx
