// Operators that combine or choose elements along counted dimensions.
#include <algorithm>
#include <limits>
#include <numeric>

#include "converter/onnx/counted_operators.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx::counts {

void gathered(Op& op, OpFunction) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const Sizes &data = op.counted(0).sizes, &indices = op.counted(1).sizes;
  const Tensor x = tensor_of(op, 0);
  op.set(gather_rows(x, safe_indices(op, 1, size_at(data, static_cast<size_t>(axis))), axis), op.type(0));
  Sizes sizes;
  for (int d = 0; d < op.rank(0); ++d) {
    if (d != axis) {
      sizes.push_back(size_at(data, static_cast<size_t>(d)));
      continue;
    }
    for (int k = 0; k < op.rank(1); ++k) sizes.push_back(size_at(indices, static_cast<size_t>(k)));
  }
  op.set_counts(0, sizes);
}

void gathered_elements(Op& op, OpFunction) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  fbs::GatherT params;
  params.kind = fbs::GatherKind::Elements;
  params.axis = axis;
  const Tensor index = safe_indices(op, 1, size_at(op.counted(0).sizes, static_cast<size_t>(axis)));
  op.set(op.graph().add_op("", params, {tensor_of(op, 0), index}), op.type(0));
  op.set_counts(0, op.counted(1).sizes);
}

void gathered_nd(Op& op, OpFunction) {
  const int64_t batch = op.integer("batch_dims", 0), depth = op.dims(1).back();
  if (size_at(op.counted(1).sizes, static_cast<size_t>(op.rank(1)) - 1)) op.refuse("tuples of a counted length");
  if (batch != 0)
    op.refuse("attribute 'batch_dims' is %lld for counted rows, expected 0", static_cast<long long>(batch));
  std::optional<Tensor> ends;  // what negative indices count from
  if (is_counted(op.counted(0).sizes)) {
    std::vector<Tensor> parts;
    for (int64_t d = 0; d < depth; ++d) {
      const auto& size = size_at(op.counted(0).sizes, static_cast<size_t>(d));
      parts.push_back(size ? *size : integers(op.graph(), {1}, {op.dims(0)[static_cast<size_t>(d)]}));
    }
    ends = parts.size() == 1 ? parts[0] : concat(parts, 0);
  }
  fbs::GatherT params;
  params.kind = fbs::GatherKind::Tuples;
  op.set(op.graph().add_op("", params, {tensor_of(op, 0), safe_indices(op, 1, ends)}), op.type(0));
  Sizes sizes;
  for (int k = 0; k + 1 < op.rank(1); ++k) sizes.push_back(size_at(op.counted(1).sizes, static_cast<size_t>(k)));
  for (int d = static_cast<int>(depth); d < op.rank(0); ++d)
    sizes.push_back(size_at(op.counted(0).sizes, static_cast<size_t>(d)));
  op.set_counts(0, sizes);
}

// Padding among the updates goes to an additional row, which is cut off.
void scattered(Op& op, OpFunction) {
  if (op.text("reduction", "none") != "none") op.refuse("attribute 'reduction' with counted indices");
  const bool rows = op.node().op == "ScatterRows" && scatters_rows(op);
  const bool tuples = op.node().op == "ScatterND" || rows;
  const int axis = tuples ? 0 : op.axis(op.integer("axis", 0), op.rank(0));
  const auto at = static_cast<size_t>(axis);
  const Tensor x = tensor_of(op, 0), updates = cast_to(tensor_of(op, 2), x.dtype());
  fbs::PadT pad;
  pad.before.assign(op.dims(0).size(), 0);
  pad.after.assign(op.dims(0).size(), 0);
  pad.after[at] = 1;
  const Tensor longer = op.graph().add_op("", pad, {x});
  const int64_t size = op.dims(0)[at];
  Tensor index = cast_to(tensor_of(op, rows ? 3 : 1), fbs::DType::Int32);
  if (rows) index = reshape_to(index, {op.dims(3)[0], 1});
  const Sizes& data = op.counted(0).sizes;
  const int64_t depth = tuples ? dims_of(index).back() : 1;
  std::vector<Tensor> lengths;  // what negative indices count from
  std::vector<int64_t> beyond(static_cast<size_t>(depth), 0);
  beyond[0] = size;
  for (size_t d = at; d < at + static_cast<size_t>(depth); ++d)
    lengths.push_back(size_at(data, d) ? *data[d] : integers(op.graph(), {1}, {op.dims(0)[d]}));
  const Tensor from_end = binary(Binary::Add, index, lengths.size() == 1 ? lengths[0] : concat(lengths, 0));
  index = select(binary(Binary::Less, index, scalar(index, 0)), from_end, index);
  const Sizes& sizes = op.counted(1).sizes;
  if (const auto mask = rows ? valid(dims_of(index), {size_at(sizes, 0), {}}) : valid(op.dims(1), sizes))
    index = select(*mask, index, integers(op.graph(), {depth}, beyond));
  fbs::ScatterT params;
  params.where = tuples ? fbs::GatherKind::Tuples : fbs::GatherKind::Elements;
  params.axis = axis;
  const Tensor written = op.graph().add_op("", params, {longer, index, updates});
  op.set(slice(written, axis, 0, static_cast<int>(size)), op.type(0));
  op.set_counts(0, data);
}

// Parts along a counted axis are moved together.
void concatenated(Op& op, OpFunction function) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const auto at = static_cast<size_t>(axis);
  Sizes sizes(static_cast<size_t>(op.rank(0)));
  bool counted = false;
  for (size_t i = 0; i < op.input_count(); ++i) {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (d != at && !sizes[d]) sizes[d] = size_at(op.counted(i).sizes, d);
    counted = counted || size_at(op.counted(i).sizes, at);
  }
  if (!counted) {
    function(op);
    return op.set_counts(0, sizes);
  }
  std::vector<Tensor> parts, flags;
  for (size_t i = 0; i < op.input_count(); ++i) {
    const int64_t bound = op.dims(i)[at];
    if (bound == 0) continue;
    parts.push_back(tensor_of(op, i));
    const auto& size = size_at(op.counted(i).sizes, at);
    flags.push_back(size ? below_count(*size, bound, 0, 1)
                         : integers(op.graph(), {bound}, std::vector<int64_t>(static_cast<size_t>(bound), 1)));
  }
  if (parts.size() == 1) {
    op.set(parts[0], op.type(0));
    sizes[at] = op.counted(0).sizes[at];
    return op.set_counts(0, sizes);
  }
  const auto [order, count] = pick_flagged(concat(flags, 0));
  op.set(gather_rows(concat(parts, axis), order, axis), op.type(0));
  sizes[at] = count;
  op.set_counts(0, sizes);
}

namespace {

// The reduction of the elements that are no padding.
Tensor reduction(Op& op, const std::vector<int>& axes, bool keep) {
  const std::string& name = op.node().op;
  const auto kind = name == "ReduceMax"    ? fbs::ReduceKind::Max
                    : name == "ReduceMin"  ? fbs::ReduceKind::Min
                    : name == "ReduceProd" ? fbs::ReduceKind::Prod
                                           : fbs::ReduceKind::Sum;
  const Tensor like = tensor_of(op, 0);
  const double fill = kind == fbs::ReduceKind::Max    ? lowest(like)
                      : kind == fbs::ReduceKind::Min  ? highest(like)
                      : kind == fbs::ReduceKind::Prod ? 1
                                                      : 0;
  Tensor result = reduce(filled(op, 0, axes, fill), kind, axes, keep);
  if (name == "ReduceMean") {
    Tensor number = scalar(like, 1);
    for (const int d : axes) {
      const auto& size = size_at(op.counted(0).sizes, static_cast<size_t>(d));
      const double known = static_cast<double>(op.dims(0)[static_cast<size_t>(d)]);
      number = binary(Binary::Mul, number, size ? cast_to(*size, like.dtype()) : scalar(like, known));
    }
    result = binary(Binary::Div, result, number);
  }
  return result;
}

}  // namespace

void reduced(Op& op, OpFunction function) {
  const std::string& name = op.node().op;
  const auto list = op.input_or_attribute(1, "axes");
  std::vector<int> axes = list && !list->empty() ? op.axes(*list, op.rank(0)) : std::vector<int>{};
  if (axes.empty() && op.integer("noop_with_empty_axes", 0) != 0) {
    function(op);
    return op.set_counts(0, op.counted(0).sizes);
  }
  if (axes.empty())
    for (int d = 0; d < op.rank(0); ++d) axes.push_back(d);
  std::sort(axes.begin(), axes.end());
  const bool keep = op.integer("keepdims", 1) != 0;
  if (name == "ReduceL1" || name == "ReduceL2" || name == "ReduceSumSquare") {
    op.replace_input(0, filled(op, 0, axes, 0));
    function(op);
  } else {
    op.set(reduction(op, axes, keep), op.type(0));
  }
  Sizes sizes;
  for (int d = 0; d < op.rank(0); ++d) {
    const bool gone = std::count(axes.begin(), axes.end(), d) > 0;
    if (!gone || keep) sizes.push_back(gone ? std::nullopt : size_at(op.counted(0).sizes, static_cast<size_t>(d)));
  }
  op.set_counts(0, sizes);
}

// GridSample: positions are independent of each other; those of padding are in the middle.
void sampled(Op& op, OpFunction function) {
  const Sizes maps = op.counted(0).sizes, grid = op.counted(1).sizes;
  const size_t last = op.dims(1).size() - 1;
  if (is_counted(maps) || size_at(grid, 0) || size_at(grid, last))
    op.refuse("its maps, samples or coordinates follow from values, expected the number of positions only");
  std::vector<int> axes;
  Sizes sizes(last + 1);
  for (size_t d = 1; d < last; ++d) {
    axes.push_back(static_cast<int>(d));
    sizes[d + 1] = size_at(grid, d);
  }
  op.replace_input(1, filled(op, 1, axes, 0));
  function(op);
  op.set_counts(0, sizes);
}

// RoiAlign: a region of padding reads sample 0.
void regions(Op& op, OpFunction function) {
  if (is_counted(op.counted(0).sizes)) op.refuse("maps whose size follows from values");
  const auto& count = size_at(op.counted(1).sizes, 0) ? op.counted(1).sizes[0] : size_at(op.counted(2).sizes, 0);
  if (is_counted(op.counted(2).sizes)) op.replace_input(2, safe_indices(op, 2, std::nullopt));
  function(op);
  op.set_counts(0, {count, std::nullopt, std::nullopt, std::nullopt});
}

void best_of_counted(Op& op, OpFunction) {
  const int axis = op.axis(op.integer("axis", -1), op.rank(0));
  const auto at = static_cast<size_t>(axis);
  const int64_t bound = op.dims(0)[at];
  const auto k = op.opset() < 10 ? op.integer("k", 0) : to_integer(op.single(1, "k"));
  if (k < 1) op.refuse("the top %lld", static_cast<long long>(k));
  fbs::TopKT params;
  params.k = to_int32({std::min(k, bound)})[0];
  params.smallest = op.integer("largest", 1) == 0;
  const Tensor like = tensor_of(op, 0);
  const Tensor rows = swap_with_last(filled(op, 0, {axis}, params.smallest ? highest(like) : lowest(like)), axis);
  const std::vector<Tensor> found = op.graph().add_op_with_outputs("", params, {rows}, 2);
  op.set(0, swap_with_last(found[1], axis), op.type(0));
  op.set(1, swap_with_last(found[0], axis), Type::Int64);
  Sizes sizes = op.counted(0).sizes;
  sizes.resize(static_cast<size_t>(op.rank(0)));
  if (op.counted(1).least) {
    sizes[at] = reshape_to(*op.counted(1).in_run, {1});
  } else if (sizes[at]) {
    sizes[at] = binary(Binary::Min, *sizes[at], scalar(*sizes[at], static_cast<double>(params.k)));
  }
  op.set_counts(0, sizes);
  op.set_counts(1, sizes);
}

void arg_best_of_counted(Op& op, OpFunction function) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  if (size_at(op.counted(0).sizes, static_cast<size_t>(axis))) op.refuse("the best place along a counted dimension");
  function(op);
  Sizes sizes = op.counted(0).sizes;
  if (op.integer("keepdims", 1) == 0) sizes.erase(sizes.begin() + axis);
  op.set_counts(0, sizes);
}

}  // namespace ferry::onnx::counts
