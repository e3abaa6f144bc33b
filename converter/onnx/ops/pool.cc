// Pooling. Ferry's operator has height and width; depth and dilated kernels are composed from the kernel's cells, by
// maximum or sum.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {
namespace {

std::vector<Side> pool_sides(Op& op) {
  if (!op.has_attribute("kernel_shape")) op.refuse("attribute 'kernel_shape' is missing");
  const size_t count = static_cast<size_t>(std::max(op.rank(0) - 2, 0));
  return read_sides(op, read_positive(op, "kernel_shape", count));
}

struct Pool {
  fbs::PoolKind kind;
  bool ceil_mode, count_padding;
};

// Reciprocal number of positions that each window along a side averages over, broadcast to [N,C,...].
Tensor shares(Op& op, const Side& s, const Pool& pool, int axis) {
  Dims dims(op.dims(0).size(), 1);
  std::vector<double> values;
  for (int64_t i = 0; i < s.outputs(pool.ceil_mode); ++i) {
    int64_t count = 0;
    for (int64_t k = 0; k < s.kernel; ++k) {
      const int64_t position = i * s.stride + k * s.dilation - s.before;
      count += pool.count_padding ? position < s.size + s.after : position >= 0 && position < s.size;
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
    return input_of_cell(op, x, axis, s, s.outputs(pool.ceil_mode), k, max ? -kInfinity : 0);
  };
  Tensor all = cell(0);
  for (int64_t k = 1; k < s.kernel; ++k) all = binary(max ? fbs::BinaryKind::Max : fbs::BinaryKind::Add, all, cell(k));
  return max ? all : all * shares(op, s, pool, axis);
}

Tensor pooled(Op& op, Tensor x, std::vector<Side> sides, const Pool& pool) {
  for (const Side& s : sides)
    if (s.outputs(pool.ceil_mode) < 1) op.refuse("a window of %lld fits nowhere", static_cast<long long>(s.reach()));
  for (size_t i = 0; i < sides.size(); ++i) {
    const bool depth = sides.size() == 3 && i == 0;
    const bool fits = sides[i].reach() <= sides[i].before + sides[i].size + sides[i].after;
    if (!depth && sides[i].dilation == 1 && fits) continue;
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

// Flat input indices of the maxima of each window: the cell with the maximum, then a table of the cells' offsets from
// the window's corner.
Tensor argmax_positions(Op& op, const std::vector<Side>& sides, bool ceil_mode) {
  const Dims in = op.dims(0), strides = strides_of(in);
  const bool by_columns = op.integer("storage_order", 0) != 0;
  const auto step = [&](size_t side) {  // stride of a side in flat indices
    if (!by_columns) return strides[2 + side];
    return count_elements(Dims(in.begin() + 2, in.begin() + 2 + static_cast<std::ptrdiff_t>(side)));
  };
  int64_t cells = 1;
  Dims corners(in.begin(), in.begin() + 2);
  for (const Side& s : sides) {
    cells *= s.kernel;
    corners.push_back(s.outputs(ceil_mode));
  }
  if (cells > 256) op.refuse("indices in a kernel of %lld cells, at most 256", static_cast<long long>(cells));
  Dims column = corners;
  column.push_back(1);
  std::vector<Tensor> seen;
  std::vector<int64_t> distances;
  for (int64_t cell = 0; cell < cells; ++cell) {
    Tensor x = op.floating(0);
    int64_t distance = 0, left = cell;
    for (size_t i = sides.size(); i-- > 0; left /= sides[i].kernel) {
      const int64_t k = left % sides[i].kernel;
      x = input_of_cell(op, x, static_cast<int>(2 + i), sides[i], corners[2 + i], k, -kInfinity);
      distance += k * sides[i].dilation * step(i);
    }
    seen.push_back(reshape_to(x, column));
    distances.push_back(distance);
  }
  const int last = static_cast<int>(corners.size());
  if (last >= FERRY_MAX_RANK) op.refuse("indices in %zu spatial dimensions", sides.size());
  if (count_elements(corners) > 1 << 24) op.refuse("indices of %s maxima", to_string(corners).c_str());
  std::vector<int64_t> base(static_cast<size_t>(count_elements(corners)));
  const Dims walk = strides_of(corners);
  for (size_t i = 0; i < base.size(); ++i) {
    base[i] = static_cast<int64_t>(i) / walk[1] * strides[1];
    for (size_t d = 0; d < sides.size(); ++d) {
      const int64_t at = static_cast<int64_t>(i) / walk[2 + d] % corners[2 + d];
      base[i] += (at * sides[d].stride - sides[d].before) * step(d);
    }
  }
  const Tensor best = op.graph().add_op("", fbs::TopKT{}, {ferry::concat(seen, last)});
  const Tensor table = add_constant(op.graph(), op.node().name + ".cells", make_vector(distances));
  const Tensor distance = op.graph().add_op("", fbs::GatherT{}, {table, reshape_to(best, corners)});
  return distance + add_constant(op.graph(), op.node().name + ".corners", make_array(Type::Int64, corners, base));
}

}  // namespace

void max_pool(Op& op) {
  const std::vector<Side> sides = pool_sides(op);
  const Pool pool{fbs::PoolKind::Max, op.integer("ceil_mode", 0) != 0, false};
  op.set(0, cast_to(pooled(op, op.floating(0), sides, pool), op.tensor(0).dtype()), op.type(0));
  if (op.wants(1)) op.set(1, argmax_positions(op, sides, pool.ceil_mode), Type::Int64);
}

void average_pool(Op& op) {
  const bool count_padding = op.integer("count_include_pad", 0) != 0;
  op.set(pooled(op, op.tensor(0), pool_sides(op),
                {fbs::PoolKind::Average, op.integer("ceil_mode", 0) != 0, count_padding}));
}

// The p-norm of a window: the mean times the number of counted positions.
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
