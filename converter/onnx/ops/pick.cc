#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {

Array pick(const Array& from, int axis, const std::vector<int64_t>& positions) {
  const auto at = static_cast<size_t>(axis);
  Dims dims = from.dims;
  dims[at] = static_cast<int64_t>(positions.size());
  const int64_t inner = count_elements(Dims(from.dims.begin() + axis + 1, from.dims.end()));
  const int64_t outer = count_elements(Dims(from.dims.begin(), from.dims.begin() + axis));
  std::vector<int64_t> index;
  index.reserve(static_cast<size_t>(count_computed(dims)));
  for (int64_t o = 0; o < outer; ++o)
    for (const int64_t position : positions)
      for (int64_t i = 0; i < inner; ++i) index.push_back((o * from.dims[at] + position) * inner + i);
  return gather_elements(from, dims, index);
}

namespace {

// Maximum number of slices that replace an irregular order of positions.
constexpr size_t kMaxPieces = 16;

// Every `step`-th position along `axis`: reshapes to rows of `step` and keeps one column.
Tensor strided(Tensor x, int axis, int64_t begin, int64_t count, int64_t step) {
  const auto at = static_cast<size_t>(axis);
  Dims dims = dims_of(x);
  int64_t column = 0;
  if (begin < step && count * step == dims[at]) {
    column = begin;
  } else {
    const int64_t missing = begin + count * step - dims[at];
    if (missing > 0) {
      fbs::PadT pad;
      pad.before.assign(dims.size(), 0);
      pad.after.assign(dims.size(), 0);
      pad.after[at] = static_cast<int32_t>(missing);
      x = x.graph->add_op("", pad, {x});
    }
    x = slice(x, axis, static_cast<int>(begin), static_cast<int>(count * step));
  }
  dims[at] = count;
  Dims rows = dims;
  rows.insert(rows.begin() + axis + 1, step);
  return reshape_to(slice(reshape_to(x, rows), axis + 1, static_cast<int>(column), 1), dims);
}

Tensor gathered(Op& op, Tensor x, int axis, const std::vector<int64_t>& positions) {
  fbs::GatherT gather;
  gather.axis = axis;
  return op.graph().add_op("", gather,
                           {x, add_constant(op.graph(), op.node().name + ".places", make_vector(positions))});
}

}  // namespace

Tensor pick(Op& op, Tensor x, int axis, const std::vector<int64_t>& positions) {
  if (positions.empty()) op.refuse("the result is an empty tensor");
  const auto count = static_cast<int64_t>(positions.size());
  const int64_t step = count > 1 ? positions[1] - positions[0] : 1;
  bool even = true;
  for (size_t i = 1; i < positions.size(); ++i) even = even && positions[i] - positions[i - 1] == step;
  if (op.open_sizes() && even && step != 1) {
    // One operator whatever an open length is, of positions that begin alike: downwards they count from the end.
    std::vector<int64_t> places = positions;
    for (int64_t& place : places) place -= step < 0 ? dims_of(x)[static_cast<size_t>(axis)] : 0;
    return gathered(op, x, axis, places);
  }
  const bool regular = even && step > 0;
  if (regular && count == dims_of(x)[static_cast<size_t>(axis)]) return x;
  if (regular && step == 1) return slice(x, axis, static_cast<int>(positions[0]), static_cast<int>(count));
  if (regular && x.shape().rank < FERRY_MAX_RANK) return strided(x, axis, positions[0], count, step);
  std::vector<std::pair<int64_t, int64_t>> runs;  // first position and count
  for (const int64_t position : positions) {
    if (runs.empty() || position != runs.back().first + runs.back().second)
      runs.emplace_back(position, 1);
    else
      ++runs.back().second;
  }
  if (runs.size() > kMaxPieces) return gathered(op, x, axis, positions);
  std::vector<Tensor> pieces;
  for (const auto& [first, size] : runs)
    pieces.push_back(slice(x, axis, static_cast<int>(first), static_cast<int>(size)));
  return concat(pieces, axis);
}

Value pick(Op& op, const Value& x, int axis, const std::vector<int64_t>& positions) {
  if (const Array* array = std::get_if<Array>(&x)) return pick(*array, axis, positions);
  const Tensor tensor = std::get<Tensor>(x);
  if (!positions.empty()) return pick(op, tensor, axis, positions);
  Dims dims = dims_of(tensor);
  dims[static_cast<size_t>(axis)] = 0;
  return make_array(op.type(0), dims, std::vector<double>{});
}

}  // namespace ferry::onnx
