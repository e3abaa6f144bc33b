// Operators that move elements.
#include <algorithm>
#include <cstdint>

#include "converter/tflite/ops/ops.h"
#include "converter/tflite/ops/window.h"

namespace ferry::tflite {
namespace {

constexpr int64_t kMostPadding = int64_t{1} << 24;

// Pairs (before, after) of a [n,2] input.
void read_pairs(const Op& op, size_t input, const char* what, std::vector<int32_t>* before,
                std::vector<int32_t>* after) {
  const std::vector<int64_t> values = op.integers(input, what);
  if (values.size() % 2 != 0) op.refuse("%s has %zu values, expected pairs", what, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] > kMostPadding)
      op.refuse("%s has a value of %lld", what, static_cast<long long>(values[i]));
    (i % 2 == 0 ? before : after)->push_back(static_cast<int32_t>(values[i]));
  }
}

// The blocks of the spatial dimensions of [N,H,W,C], two of them.
std::vector<int32_t> blocks_of(const Op& op) {
  const std::vector<int64_t> blocks = op.integers(1, "the block shape");
  map_shape(op, 0);
  if (blocks.size() != 2) op.refuse("a block of %zu dimensions, expected 2", blocks.size());
  for (const int64_t size : blocks)
    if (size < 1 || size > 1 << 10) op.refuse("a block size is %lld", static_cast<long long>(size));
  return {blocks.begin(), blocks.end()};
}

}  // namespace

void concatenation(Op& op) {
  const auto& o = op.options<schema::ConcatenationOptions>();
  std::vector<Tensor> parts;
  for (size_t i = 0; i < op.input_count(); ++i) parts.push_back(op.tensor(i));
  if (parts.empty()) op.refuse("it has no input");
  const int axis = op.axis(o.axis(), parts[0].shape().rank);
  op.set(activated(op, parts.size() == 1 ? parts[0] : concat(parts, axis), o.fused_activation_function()));
}

void transpose(Op& op) {
  const std::vector<int64_t> order = op.integers(1, "the permutation");
  const int rank = op.shape(0).rank;
  std::vector<int32_t> perm;
  for (const int64_t axis : order) perm.push_back(op.axis(axis, rank));
  op.set(ferry::transpose(op.tensor(0), perm));
}

void pack(Op& op) {
  const auto& o = op.options<schema::PackOptions>();
  std::vector<Tensor> parts;
  if (op.input_count() == 0) op.refuse("it has no input");
  const int axis = op.axis(o.axis(), op.shape(0).rank + 1);
  for (size_t i = 0; i < op.input_count(); ++i) {
    if (op.shape(i) != op.shape(0))
      op.refuse("inputs %s and %s", to_string(op.shape(0)).c_str(), to_string(op.shape(i)).c_str());
    std::vector<int32_t> dims = dims_of(op.tensor(i));
    dims.insert(dims.begin() + axis, 1);
    parts.push_back(reshape_to(op.tensor(i), dims));
  }
  op.set(parts.size() == 1 ? parts[0] : concat(parts, axis));
}

void unpack(Op& op) {
  const Tensor x = op.tensor(0);
  const int axis = op.axis(op.options<schema::UnpackOptions>().axis(), x.shape().rank);
  if (op.output_count() > static_cast<size_t>(x.shape()[axis]))
    op.refuse("%zu outputs of %d elements", op.output_count(), x.shape()[axis]);
  std::vector<int32_t> dims = dims_of(x);
  dims.erase(dims.begin() + axis);
  for (size_t i = 0; i < op.output_count(); ++i)
    op.set(i, reshape_to(ferry::slice(x, axis, static_cast<int>(i), 1), dims));
}

// PAD and PADV2, whose third input is the value.
void pad(Op& op) {
  std::vector<int32_t> before, after;
  read_pairs(op, 1, "the paddings", &before, &after);
  if (before.size() != static_cast<size_t>(op.shape(0).rank))
    op.refuse("paddings of %zu dimensions for %d", before.size(), op.shape(0).rank);
  op.set(pad(op.tensor(0), before, after, op.has(2) ? op.number(2, "the value") : 0));
}

void mirror_pad(Op& op) {
  std::vector<int32_t> before, after;
  read_pairs(op, 1, "the paddings", &before, &after);
  Tensor x = op.tensor(0);
  const Shape shape = x.shape();
  if (before.size() != static_cast<size_t>(shape.rank))
    op.refuse("paddings of %zu dimensions for %d", before.size(), shape.rank);
  // SYMMETRIC repeats the edge.
  const int32_t edge = op.options<schema::MirrorPadOptions>().mode() == schema::MirrorPadMode::SYMMETRIC ? 1 : 0;
  for (int axis = 0; axis < shape.rank; ++axis) {
    const int32_t n = shape[axis], left = before[static_cast<size_t>(axis)], right = after[static_cast<size_t>(axis)];
    if (left == 0 && right == 0) continue;
    if (std::max(left, right) > n - 1 + edge) op.refuse("%d elements are mirrored beyond them", n);
    x = pick(op, x, axis, int64_t{left} + n + right, [&](int64_t i) {
      const int64_t at = i - left;
      return at < 0 ? -at - edge : at < n ? at : 2 * (int64_t{n} - 1) + edge - at;
    });
  }
  op.set(x);
}

void reverse_v2(Op& op) {
  Tensor x = op.tensor(0);
  for (const int64_t of : op.integers(1, "the axes")) {
    const int axis = op.axis(of, x.shape().rank);
    const int64_t last = x.shape()[axis] - 1;
    x = pick(op, x, axis, last + 1, [&](int64_t i) { return last - i; });
  }
  op.set(x);
}

void depth_to_space(Op& op) {
  const int block = op.options<schema::DepthToSpaceOptions>().block_size();
  const Shape x = map_shape(op, 0);
  if (block < 1 || block > 1 << 10 || x[3] % (block * block) != 0)
    op.refuse("blocks of %d do not divide %d channels", block, x[3]);
  op.set(ferry::depth_to_space(op.tensor(0), block));
}

void space_to_depth(Op& op) {
  const int b = op.options<schema::SpaceToDepthOptions>().block_size();
  const Shape x = map_shape(op, 0);
  if (b < 1 || b > 1 << 10 || int64_t{b} * b * x[3] > INT32_MAX || x[1] % b != 0 || x[2] % b != 0)
    op.refuse("blocks of %d do not divide %s", b, to_string(x).c_str());
  const Tensor cells = reshape_to(op.tensor(0), {x[0], x[1] / b, b, x[2] / b, b, x[3]});
  op.set(reshape_to(ferry::transpose(cells, {0, 1, 3, 2, 4, 5}), {x[0], x[1] / b, x[2] / b, b * b * x[3]}));
}

void space_to_batch_nd(Op& op) {
  const std::vector<int32_t> b = blocks_of(op);
  std::vector<int32_t> before = {0}, after = {0};
  read_pairs(op, 2, "the paddings", &before, &after);
  before.push_back(0);
  after.push_back(0);
  if (before.size() != 4) op.refuse("paddings of %zu dimensions, expected 2", before.size() - 2);
  const Tensor padded = pad(op.tensor(0), before, after);
  const Shape x = padded.shape();
  if (x[1] % b[0] != 0 || x[2] % b[1] != 0 || int64_t{x[0]} * b[0] * b[1] > INT32_MAX)
    op.refuse("blocks of %dx%d do not divide %s", b[0], b[1], to_string(x).c_str());
  const Tensor cells = reshape_to(padded, {x[0], x[1] / b[0], b[0], x[2] / b[1], b[1], x[3]});
  op.set(reshape_to(ferry::transpose(cells, {2, 4, 0, 1, 3, 5}), {x[0] * b[0] * b[1], x[1] / b[0], x[2] / b[1], x[3]}));
}

void batch_to_space_nd(Op& op) {
  const std::vector<int32_t> b = blocks_of(op);
  std::vector<int32_t> before, after;
  read_pairs(op, 2, "the crops", &before, &after);
  if (before.size() != 2) op.refuse("crops of %zu dimensions, expected 2", before.size());
  const Shape x = op.shape(0);
  const int32_t n = x[0] / (b[0] * b[1]);
  if (int64_t{x[1]} * b[0] > INT32_MAX || int64_t{x[2]} * b[1] > INT32_MAX) op.refuse("its output is too large");
  if (n < 1 || x[0] % (b[0] * b[1]) != 0) op.refuse("blocks of %dx%d do not divide a batch of %d", b[0], b[1], x[0]);
  const Tensor cells = reshape_to(op.tensor(0), {b[0], b[1], n, x[1], x[2], x[3]});
  Tensor y = reshape_to(ferry::transpose(cells, {2, 3, 0, 4, 1, 5}), {n, x[1] * b[0], x[2] * b[1], x[3]});
  for (int i = 0; i < 2; ++i) {
    const auto side = static_cast<size_t>(i);
    const int32_t size = y.shape()[i + 1] - before[side] - after[side];
    if (size < 1) op.refuse("the crops leave nothing");
    if (size < y.shape()[i + 1]) y = ferry::slice(y, i + 1, before[side], size);
  }
  op.set(y);
}

}  // namespace ferry::tflite
