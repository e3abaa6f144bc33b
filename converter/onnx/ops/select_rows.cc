// Operators whose number of results follows from values: NonZero, Compress, NonMaxSuppression.
#include <algorithm>
#include <limits>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

void known_non_zero(Op& op) {
  const Array& x = op.array(0, "X");
  const Dims strides = strides_of(x.dims);
  const std::vector<double> values = x.floats();
  std::vector<std::vector<int64_t>> found(x.dims.size());
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t d = 0; values[i] != 0 && d < x.dims.size(); ++d)
      found[d].push_back(static_cast<int64_t>(i) / strides[d] % x.dims[d]);
  std::vector<int64_t> all;
  for (const auto& row : found) all.insert(all.end(), row.begin(), row.end());
  const int64_t count = found.empty() ? 0 : static_cast<int64_t>(found[0].size());
  op.set(make_array(Type::Int64, {static_cast<int64_t>(x.dims.size()), count}, all));
}

// 1 where an element is not 0.
Tensor flags_of(Op& op, size_t i) {
  const Array* array = std::get_if<Array>(&op.value(i));
  const Tensor x = array ? add_constant(op.graph(), op.input_name(i), *array) : op.tensor(i);
  return valid_flags(op, i, unary(unary(x, fbs::UnaryKind::Not), fbs::UnaryKind::Not));
}

Tensor integer(Tensor like, int64_t value) { return scalar(like, static_cast<double>(value)); }

}  // namespace

// The places of all elements, those of nonzero elements first.
void non_zero(Op& op) {
  if (op.known(0) && op.counted(0).sizes.empty()) return known_non_zero(op);
  const Dims dims = op.dims(0), strides = strides_of(dims);
  if (dims.empty()) op.refuse("a scalar, expected one dimension or more");
  const auto [order, count] = pick_flagged(reshape_to(flags_of(op, 0), {count_elements(dims)}));
  std::vector<Tensor> places;
  for (size_t d = 0; d < dims.size(); ++d) {
    Tensor place = order;
    if (strides[d] != 1) place = binary(fbs::BinaryKind::Div, place, integer(place, strides[d]));
    if (d > 0) place = binary(fbs::BinaryKind::Mod, place, integer(place, dims[d]));
    places.push_back(reshape_to(place, {1, count_elements(dims)}));
  }
  op.set(places.size() == 1 ? places[0] : ferry::concat(places, 0), Type::Int64);
  op.set_counts(0, {std::nullopt, count});
}

void compress(Op& op) {
  const bool flat = !op.has_attribute("axis");
  const int axis = flat ? 0 : op.axis(op.integer("axis", 0), op.rank(0));
  if (!op.counted(0).sizes.empty() && flat && op.rank(0) != 1) op.refuse("a counted input without an axis");
  const Dims dims = flat ? Dims{count_elements(op.dims(0))} : op.dims(0);
  const int64_t size = dims[static_cast<size_t>(axis)];
  if (op.rank(1) != 1 || op.dims(1)[0] > size)
    op.refuse("the condition is %s, expected at most %lld elements", to_string(op.dims(1)).c_str(),
              static_cast<long long>(size));
  std::vector<std::optional<Tensor>> sizes = op.counted(0).sizes;
  sizes.resize(dims.size());
  if (op.known(1) && op.counted(1).sizes.empty() && !sizes[static_cast<size_t>(axis)]) {
    if (flat) op.reshape_input(0, dims);
    const std::vector<int64_t> keep = op.array(1, "the condition").ints();
    std::vector<int64_t> places;
    for (size_t i = 0; i < keep.size(); ++i)
      if (keep[i] != 0) places.push_back(static_cast<int64_t>(i));
    op.set(pick(op, op.value(0), axis, places), op.type(0));
    return op.set_counts(0, sizes);
  }
  const Array* array = std::get_if<Array>(&op.value(0));
  const Tensor x = reshape_to(array ? add_constant(op.graph(), op.input_name(0), *array) : op.tensor(0), dims);
  const auto [order, count] = pick_flagged(flags_of(op, 1));
  fbs::GatherT params;
  params.axis = axis;
  op.set(op.graph().add_op("", params, {x, order}), op.type(0));
  sizes[static_cast<size_t>(axis)] = count;
  op.set_counts(0, sizes);
}

void non_max_suppression(Op& op) {
  const auto limit = [&](size_t i, const char* what, double otherwise) {
    return op.has(i) ? op.single(i, what) : otherwise;
  };
  fbs::NonMaxSuppressionT params;
  if (op.rank(0) != 3 || op.rank(1) != 3) op.refuse("boxes and scores have three dimensions");
  const double boxes = limit(2, "max_output_boxes_per_class", 0);
  if (!(boxes >= 1)) op.refuse("max_output_boxes_per_class is %g, expected 1 or more", boxes);
  params.max_boxes = static_cast<int32_t>(std::min<double>(boxes, static_cast<double>(op.dims(0)[1])));
  params.iou_threshold = static_cast<float>(limit(3, "iou_threshold", 0));
  if (op.has(4)) params.score_threshold = static_cast<float>(op.single(4, "score_threshold"));
  params.centers = op.integer("center_point_box", 0) != 0;
  // Padding has the score -inf, which is above no threshold.
  Tensor scores = op.floating(1);
  const Tensor ones = add_constant(op.graph(), "", make_array(Type::Int64, {1, 1, 1}, std::vector<int64_t>{1}));
  if (!op.counted(1).sizes.empty())
    scores = select(valid_flags(op, 1, ones), scores, scalar(scores, -std::numeric_limits<double>::infinity()));
  const Tensor kept = op.graph().add_op("", params, {op.floating(0), scores});
  const Tensor unused = binary(fbs::BinaryKind::Less, ferry::slice(kept, 1, 0, 1), integer(kept, 0));
  const Tensor used = reshape_to(unary(unused, fbs::UnaryKind::Not), {kept.shape()[0]});
  op.set(kept, Type::Int64);
  op.set_counts(0, {reduce(used, fbs::ReduceKind::Sum, {0}, true), std::nullopt});
}

}  // namespace ferry::onnx
