// Loops over a detector's boxes (patterns/box_loops.cc), for all boxes at once. A box resizes its map by a factor of
// its own along each side, so the maps are multiplied by weights that are computed from the boxes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/value_range.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

// 0..count-1 along dimension `d` of three, beginning at `first`.
Tensor places(Op& op, int64_t count, size_t d, int64_t first = 0) {
  Dims dims(3, 1);
  dims[d] = count;
  std::vector<double> values(static_cast<size_t>(count_computed(dims)));
  std::iota(values.begin(), values.end(), static_cast<double>(first));
  return add_constant(op.graph(), op.node().name + ".places", make_array(Type::Float32, dims, values));
}

// Where the centres of `size` [N,1,1] pixels lie among `from` of a map.
Tensor positions_in_map(Tensor pixels, Tensor size, int64_t from) {
  return (pixels + 0.5) * binary(Binary::Div, scalar(size, static_cast<double>(from)), size) + -0.5;
}

// The loop's trip count as the size of its outputs' first dimension, which is at most `bound`; nothing if it is
// `bound`.
std::optional<Tensor> iterations(Op& op, int64_t bound) {
  if (op.known(0)) {
    if (const double count = op.single(0, "the trip count"); count != static_cast<double>(bound))
      op.refuse("the trip count is %g for %lld boxes", count, static_cast<long long>(bound));
    return {};
  }
  const Tensor count = reshape_to(cast_to(op.tensor(0), fbs::DType::Int32), {1});
  return binary(Binary::Min, count, scalar(count, static_cast<double>(bound)));
}

void refuse_counted(Op& op, size_t i) {
  for (size_t d = 1; d < op.counted(i).sizes.size(); ++d)
    if (op.counted(i).sizes[d]) op.refuse("dimension %zu of input %zu follows from values", d, i);
}

// ---- pasted masks

// Weights of a mask's elements [N,count,from] in an image's pixels along one side, of boxes from `first` to `last`
// [N,1,1]: bilinear, 0 outside of the box.
Tensor pasting_weights(Op& op, Tensor first, Tensor last, int64_t count, int64_t from) {
  const Tensor pixels = places(op, count, 1);
  const Tensor in_box =
      binary(Binary::And, binary(Binary::LessOrEqual, first, pixels), binary(Binary::LessOrEqual, pixels, last));
  const Tensor size = relu(last - first) + 1.0;
  const Tensor position =
      unary(positions_in_map(pixels - first, size, from), Unary::Clamp, 0, static_cast<double>(from - 1));
  const Tensor distance = unary(position - places(op, from, 2), Unary::Abs);
  return relu(scalar(distance, 1) - distance) * cast_to(in_box, fbs::DType::Float32);
}

// ---- maxima of heatmaps

// Keys' cubic kernel as in PyTorch, at a distance of 0 or more.
Tensor cubic(Tensor d) {
  constexpr double kA = -0.75;
  const Tensor near = (d * (kA + 2) + -(kA + 3)) * d * d + 1.0;
  const Tensor up_to_2 = binary(Binary::Min, d, scalar(d, 2));
  const Tensor far = ((up_to_2 + -5.0) * up_to_2 + 8.0) * up_to_2 * kA + -4 * kA;
  return select(binary(Binary::Less, d, scalar(d, 1)), near, far);
}

// Weights of a map's elements [N,count,from] in maps that are resized to `size` [N,1,1] of at most `count`. Those
// beyond are copies of the last one.
Tensor cubic_weights(Op& op, Tensor size, int64_t count, int64_t from) {
  constexpr int64_t kBeyond = 2;  // neighbours outside of the map, which have the value of its edge
  const Tensor position = positions_in_map(binary(Binary::Min, places(op, count, 1), size + -1.0), size, from);
  const Tensor around = places(op, from + 2 * kBeyond, 2, -kBeyond);
  std::vector<double> edges(static_cast<size_t>(count_computed({from + 2 * kBeyond, from})), 0);
  for (int64_t i = 0; i < from + 2 * kBeyond; ++i)
    edges[static_cast<size_t>(i * from + std::clamp<int64_t>(i - kBeyond, 0, from - 1))] = 1;
  const Shape shape{static_cast<int32_t>(from + 2 * kBeyond), static_cast<int32_t>(from)};
  return matmul(cubic(unary(position - around, Unary::Abs)),
                op.graph().add_constant(op.node().name + ".edges", shape, edges));
}

// The index of the first maximum along the last dimension, which it drops, and its value.
std::pair<Tensor, Tensor> best(Tensor x) {
  fbs::TopKT params;
  params.k = 1;
  const std::vector<Tensor> found = x.graph->add_op_with_outputs("", params, {x}, 2);
  Dims dims = dims_of(x);
  dims.pop_back();
  return {reshape_to(found[0], dims), reshape_to(found[1], dims)};
}

constexpr int64_t kMaxBoxes = 4096;  // each is a few operators

// The maximum of every row of resized maps [N,K,H']: in groups of boxes, since resized maps are large.
Tensor maxima_of_rows(Tensor maps, Tensor rows, Tensor columns) {
  constexpr int64_t kGroup = int64_t{1} << 24;
  const Dims d = dims_of(maps);
  const int64_t height = dims_of(rows)[1], width = dims_of(columns)[1], each = count_elements({d[1], height, width});
  const int64_t group = std::clamp<int64_t>(kGroup / each, 1, d[0]);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < d[0]; at += group) {
    const int64_t n = std::min(group, d[0] - at);
    const auto boxes = [&](Tensor x) { return ferry::slice(x, 0, static_cast<int>(at), static_cast<int>(n)); };
    const Tensor tall = matmul(reshape_to(boxes(rows), {n, 1, height, d[2]}), boxes(maps));
    const Tensor resized = matmul(reshape_to(tall, {n, d[1] * height, d[3]}), boxes(columns), false, true);
    parts.push_back(reshape_to(reduce(resized, fbs::ReduceKind::Max, {2}, false), {n, d[1], height}));
  }
  return parts.size() == 1 ? parts[0] : ferry::concat(parts, 0);
}

// The maximum size that resized maps have, which is that of the boxes that the graph clips to the image.
int64_t largest_size(Op& op, size_t i, const char* what) {
  constexpr double kLargest = 1 << 14;
  const double bound = std::floor(range_of(op.floating(i)).high);
  if (!(bound >= 1 && bound <= kLargest))
    op.refuse("the %s of boxes have no known bound of at most %g: expected boxes that are clipped to the image", what,
              kLargest);
  return to_integer(bound);
}

}  // namespace

void ferry_paste_masks(Op& op) {
  const Dims image = op.dims(1), masks = op.dims(2), boxes = op.dims(3);
  if (image.size() != 3 || image[0] != 0 || masks.size() != 4 || masks[1] != 1 || boxes != Dims{masks[0], 4})
    op.refuse("masks %s of boxes %s are pasted into %s", to_string(masks).c_str(), to_string(boxes).c_str(),
              to_string(image).c_str());
  refuse_counted(op, 2);
  refuse_counted(op, 3);
  const Tensor corners = reshape_to(op.floating(3), {masks[0], 4, 1});
  const auto corner = [&](int i) { return ferry::slice(corners, 1, i, 1); };
  const Tensor rows = pasting_weights(op, corner(1), corner(3), image[1], masks[2]);
  const Tensor columns = pasting_weights(op, corner(0), corner(2), image[2], masks[3]);
  const Tensor each = reshape_to(op.floating(2), {masks[0], masks[2], masks[3]});
  op.set(matmul(matmul(rows, each), columns, false, true), Type::Float32);
  op.set_counts(0, {iterations(op, masks[0]), std::nullopt, std::nullopt});
}

void ferry_keypoints_of_heatmaps(Op& op) {
  const Dims maps = op.dims(3), points = op.dims(1), scores = op.dims(2);
  if (maps.size() != 4 || points != Dims{0, 3, maps[1]} || scores != Dims{0, maps[1]} ||
      op.single(4, "the number of keypoints") != static_cast<double>(maps[1]))
    op.refuse("heatmaps %s become keypoints %s and scores %s", to_string(maps).c_str(), to_string(points).c_str(),
              to_string(scores).c_str());
  for (size_t i = 3; i < op.input_count(); ++i) {
    if (i != 4) refuse_counted(op, i);
    if (i > 4 && op.dims(i) != Dims{maps[0]})
      op.refuse("input %zu is %s for heatmaps %s", i, to_string(op.dims(i)).c_str(), to_string(maps).c_str());
  }
  const int64_t width = largest_size(op, 5, "widths"), height = largest_size(op, 6, "heights");
  if (maps[0] > kMaxBoxes)
    op.refuse("%lld boxes, at most %lld", static_cast<long long>(maps[0]), static_cast<long long>(kMaxBoxes));
  const auto of_boxes = [&](size_t i) { return reshape_to(op.floating(i), {maps[0], 1, 1}); };
  const auto whole = [&](size_t i) { return unary(of_boxes(i), Unary::Floor); };
  const Tensor heatmaps = op.floating(3);
  const Tensor rows = cubic_weights(op, whole(6), height, maps[2]);
  const Tensor columns = cubic_weights(op, whole(5), width, maps[3]);
  const auto [row, score] = best(maxima_of_rows(heatmaps, rows, columns));
  // Of the rows with the maxima, the column.
  fbs::GatherT gather;
  gather.kind = fbs::GatherKind::Tuples;
  gather.axis = 1;
  const Tensor weights = op.graph().add_op("", gather, {rows, reshape_to(row, {maps[0], maps[1], 1})});
  const Tensor tall = matmul(reshape_to(weights, {maps[0], maps[1], 1, maps[2]}), heatmaps);
  const auto column = best(matmul(reshape_to(tall, {maps[0], maps[1], maps[3]}), columns, false, true)).first;
  const auto in_image = [&](Tensor place, size_t rounded, size_t exact, size_t offset) {
    const Tensor factor = binary(Binary::Div, of_boxes(exact), of_boxes(rounded));
    return (reshape_to(cast_to(place, fbs::DType::Float32), {maps[0], 1, maps[1]}) + 0.5) * factor + of_boxes(offset);
  };
  const Tensor x = in_image(column, 5, 7, 9), y = in_image(row, 6, 8, 10);
  const std::vector<double> ones(static_cast<size_t>(count_computed({maps[0], maps[1]})), 1);
  const Tensor visible =
      add_constant(op.graph(), op.node().name + ".visible", make_array(Type::Float32, {maps[0], 1, maps[1]}, ones));
  const auto count = iterations(op, maps[0]);
  op.set(0, ferry::concat({x, y, visible}, 1), Type::Float32);
  op.set(1, score, Type::Float32);
  op.set_counts(0, {count, std::nullopt, std::nullopt});
  op.set_counts(1, {count, std::nullopt});
}

}  // namespace ferry::onnx
