// MediaPipe's custom operators on points, for its face mesh with attention. The formulas are those of
// mediapipe/util/tflite/operations (Apache-2.0).
#include <array>
#include <cmath>

#include "converter/tflite/custom_options.h"
#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

constexpr int kMostPixels = 1 << 16;  // along a side
constexpr int kMatrix = 16;           // elements, row by row

int version_of(const Op& op) { return op.file().code(op.operator_of_file()).version(); }

// Points of two or three coordinates as [N,D].
Tensor points(const Op& op, int coordinates) {
  const Tensor x = op.tensor(0);
  const int64_t elements = x.shape().elements();
  if (elements == 0 || elements % coordinates != 0)
    op.refuse("points %s of %d coordinates", to_string(x.shape()).c_str(), coordinates);
  return reshape_to(x, {static_cast<int32_t>(elements / coordinates), coordinates});
}

Tensor column(Tensor x, int c) { return ferry::slice(x, 1, c, 1); }

struct Rotation {
  Tensor cos, sin;  // [1,1]
};

// By `target` minus the angle of the line through two points [1,3], which has no direction if `undirected`.
Rotation rotation(Tensor from, Tensor to, double target, bool undirected) {
  const Tensor line = to - from;
  Tensor x = column(line, 0), y = column(line, 1);
  if (undirected) {
    const Tensor to_left = binary(fbs::BinaryKind::Less, x, scalar(x, 0));
    y = select(to_left, y * -1.0, y);
    x = unary(x, fbs::UnaryKind::Abs);
  }
  const Tensor length = unary(x * x + y * y, fbs::UnaryKind::Sqrt);
  const Tensor none = binary(fbs::BinaryKind::Equal, length, scalar(length, 0));  // whose angle is 0
  const Tensor cos = select(none, scalar(x, 1), binary(fbs::BinaryKind::Div, x, length));
  const Tensor sin = select(none, scalar(y, 0), binary(fbs::BinaryKind::Div, y, length));
  return {cos * std::cos(target) + sin * std::sin(target), cos * std::sin(target) - sin * std::cos(target)};
}

// How the pixel (i, j) of a crop is found in the map: step * (extent of the points) * (i - half), rotated, from
// centre * (middle of the points); and all that times `factor`. Each for x and y.
struct Crop {
  double target = 0;        // angle of the line between the two points
  bool undirected = false;  // that line
  std::array<double, 2> step, half, factor = {1, 1};
  double centre = 1;
};

Crop first_version(const Op& op, const CustomOptions& options) {
  const std::vector<int> from = options.indices("input_hw", kMostPixels),
                         to = options.indices("output_hw", kMostPixels);
  if (from.size() != 2 || to.size() != 2 || to[0] < 2 || to[1] < 2)
    op.refuse("input_hw or output_hw is not the height and width of a map");
  const double range = options.count("landmarks_range", 0, kMostPixels);
  const double size = options.number("bbox_size_multiplier", 0);
  Crop crop;
  crop.undirected = true;
  crop.centre = 2 / range;
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    const int pixels = to[1 - axis];
    crop.step[axis] = 2 * size / (range * (pixels - 1));
    crop.half[axis] = (pixels - 1) / 2.0;
    crop.factor[axis] = (from[1 - axis] - 1) / 2.0;
  }
  return crop;
}

Crop second_version(const CustomOptions& options) {
  const std::array<int, 2> pixels = {options.count("output_width", 0, kMostPixels),
                                     options.count("output_height", 0, kMostPixels)};
  Crop crop;
  crop.target = options.number("target_rotation_radians", -1e3);
  crop.step = {options.number("scale_x", 0) / pixels[0], options.number("scale_y", 0) / pixels[1]};
  crop.half = {pixels[0] / 2.0, pixels[1] / 2.0};
  return crop;
}

}  // namespace

// The matrix from the pixels of an upright crop around some points to the map that they are points of.
void landmarks_to_transform_matrix(Op& op) {
  const CustomOptions options(op);
  const bool first = version_of(op) < 2;
  const Crop crop = first ? first_version(op, options) : second_version(options);
  const Tensor all = points(op, 3);
  const int count = all.shape()[0];
  const auto point = [&](const char* name) { return ferry::slice(all, 0, options.index(name, count), 1); };
  const Rotation r = rotation(point("left_rotation_idx"), point("right_rotation_idx"), crop.target, crop.undirected);
  std::vector<int> subset = options.indices(first ? "subset" : "subset_idxs", count);
  if (subset.empty()) op.refuse("it has no points to surround");
  const Shape shape = {static_cast<int32_t>(subset.size())};
  const Tensor list = op.graph().add_constant("", shape, std::move(subset));
  const Tensor some = op.graph().add_op("", fbs::GatherT{}, {all, list});
  const Tensor x = column(some, 0), y = column(some, 1);
  const Tensor upright_x = x * r.cos - y * r.sin, upright_y = x * r.sin + y * r.cos;
  const auto extreme = [](Tensor of, fbs::ReduceKind kind) { return reduce(of, kind, {0}, true); };
  const auto extent = [&](Tensor of) { return extreme(of, fbs::ReduceKind::Max) - extreme(of, fbs::ReduceKind::Min); };
  const auto middle = [&](Tensor of) {
    return (extreme(of, fbs::ReduceKind::Max) + extreme(of, fbs::ReduceKind::Min)) * (crop.centre / 2);
  };
  const Tensor middle_x = middle(upright_x), middle_y = middle(upright_y);
  const Tensor width = extent(upright_x) * crop.step[0], height = extent(upright_y) * crop.step[1];
  const Tensor zero = op.graph().add_constant("", Shape{1, 1}, std::vector<float>{0});
  const Tensor one = op.graph().add_constant("", Shape{1, 1}, std::vector<float>{1});
  std::vector<Tensor> entries;
  const auto add_row = [&](Tensor along_x, Tensor along_y, double factor) {
    const Tensor to_i = width * along_x * factor, to_j = height * along_y * factor;
    const Tensor centre = (middle_x * along_x + middle_y * along_y) * factor;
    entries.insert(entries.end(), {to_i, to_j, zero, centre - to_i * crop.half[0] - to_j * crop.half[1]});
  };
  add_row(r.cos, r.sin, crop.factor[0]);
  add_row(r.sin * -1.0, r.cos, crop.factor[1]);
  entries.insert(entries.end(), {zero, zero, one, zero, zero, zero, zero, one});
  op.set(reshape_to(concat(entries, 1), {1, 4, 4}));
}

// Inputs: points, and the matrix that moves their x and y. The third coordinate stays.
void transform_landmarks(Op& op) {
  const Shape shape = op.shape(0);
  int coordinates = shape.rank == 0 ? 0 : shape[shape.rank - 1];
  double scale = 1;
  if (version_of(op) < 2) {
    const CustomOptions options(op);
    coordinates = options.count("dimensions", 3, kMostPixels);
    if (options.has("scale")) scale = options.number("scale", -kMostPixels);
  }
  if (coordinates != 2 && coordinates != 3) op.refuse("points of %d coordinates, expected 2 or 3", coordinates);
  if (op.shape(1).elements() != kMatrix) op.refuse("a matrix %s, expected 4x4", to_string(op.shape(1)).c_str());
  const Tensor matrix = reshape_to(op.tensor(1), {1, kMatrix}), all = points(op, coordinates);
  const Tensor x = column(all, 0), y = column(all, 1);
  std::vector<Tensor> moved;
  for (const int row : {0, 4})
    moved.push_back(x * column(matrix, row) + y * column(matrix, row + 1) + column(matrix, row + 3) * scale);
  if (coordinates == 3) moved.push_back(column(all, 2));
  op.set(reshape_to(concat(moved, 1), dims_of(op.tensor(0))));
}

}  // namespace ferry::tflite
