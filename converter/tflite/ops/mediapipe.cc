// MediaPipe's custom operators. Pools have TensorFlow Lite's C struct of a pool as options. The formulas are those of
// mediapipe/util/tflite/operations (Apache-2.0), which no published interpreter of TensorFlow Lite includes.
#include <cstring>
#include <limits>

#include "converter/tflite/ops/ops.h"
#include "converter/tflite/ops/window.h"

namespace ferry::tflite {
namespace {

constexpr int kMaxCells = 64;           // of a window; each becomes some operators
constexpr double kBesideInteger = 0.1;  // what MediaPipe adds to an index, so that float16 does not round it down

struct Window {
  schema::Padding padding;
  int32_t stride_w, stride_h, filter_w, filter_h;
  schema::ActivationFunctionType activation;
};

Window window_of(const Op& op) {
  int32_t v[6];
  if (op.custom_options().size() < sizeof v) op.refuse("its options have %zu bytes", op.custom_options().size());
  std::memcpy(v, op.custom_options().data(), sizeof v);
  if (v[0] != 1 && v[0] != 2) op.refuse("its padding is number %d, expected 1 or 2", v[0]);
  check_window(op, {v[1], v[2], v[3], v[4]});
  if (int64_t{v[3]} * v[4] > kMaxCells) op.refuse("a window of %dx%d, at most %d elements", v[4], v[3], kMaxCells);
  if (v[5] < 0 || v[5] > 4) op.refuse("its fused activation is number %d", v[5]);
  // The C enumeration is in the schema's order.
  constexpr schema::ActivationFunctionType kActivations[] = {
      schema::ActivationFunctionType::NONE, schema::ActivationFunctionType::RELU,
      schema::ActivationFunctionType::RELU_N1_TO_1, schema::ActivationFunctionType::RELU6,
      schema::ActivationFunctionType::TANH};
  return {v[0] == 1 ? schema::Padding::SAME : schema::Padding::VALID, v[1], v[2], v[3], v[4], kActivations[v[5]]};
}

// A number of 16 of a matrix, as a tensor of one element.
Tensor entry(Tensor matrix, int i) { return ferry::slice(matrix, 0, i, 1); }

// Samples input 0, one map, at the positions that the first two rows of a 4x4 matrix (input 1) give for the columns and
// rows of the output; 0 outside of the map. `centre`: where in a pixel its position is.
void transform(Op& op, double centre) {
  const Shape from = map_shape(op, 0), to = op.output_shape(0);
  if (from[0] != 1 || to.rank != 4 || to[0] != 1 || to[3] != from[3])
    op.refuse("maps %s and %s, expected one map of as many channels", to_string(from).c_str(), to_string(to).c_str());
  if (op.shape(1).elements() != 16) op.refuse("a matrix %s, expected 4x4", to_string(op.shape(1)).c_str());
  const int64_t pixels = int64_t{to[1]} * to[2];
  for (int axis = 0; axis < 2; ++axis) op.count_computed(pixels);
  if (int64_t{from[1]} * from[2] > std::numeric_limits<int32_t>::max())
    op.refuse("a map %s, which has too many pixels", to_string(from).c_str());
  const auto positions = static_cast<int>(pixels);
  std::vector<float> columns, rows;
  for (int i = 0; i < positions; ++i) {
    columns.push_back(static_cast<float>(i % to[2]) + static_cast<float>(centre));
    rows.push_back(static_cast<float>(i / to[2]) + static_cast<float>(centre));
  }
  Graph& graph = op.graph();
  const Tensor column = graph.add_constant("", Shape{positions}, std::move(columns));
  const Tensor row = graph.add_constant("", Shape{positions}, std::move(rows));
  const Tensor matrix = reshape_to(op.tensor(1), {16});
  const auto position = [&](int first) {
    return entry(matrix, first) * column + entry(matrix, first + 1) * row + (entry(matrix, first + 3) + -centre);
  };
  struct Side {
    Tensor first, second, share, inside;
  };
  const auto side = [&](Tensor at, int size) {
    const double last = size - 1;
    const Tensor low = unary(at, fbs::UnaryKind::Clamp, 0, last), first = unary(low, fbs::UnaryKind::Floor);
    return Side{first, unary(first + 1.0, fbs::UnaryKind::Clamp, 0, last), low - first,
                cast_to(binary(fbs::BinaryKind::Equal, low, at), fbs::DType::Float32)};
  };
  const Side x = side(position(0), from[2]), y = side(position(4), from[1]);
  const Tensor map = reshape_to(op.tensor(0), {from[1] * from[2], from[3]});
  const auto corner = [&](Tensor at_y, Tensor at_x, Tensor share) {
    const Tensor index = cast_to(at_y * static_cast<double>(from[2]) + at_x, fbs::DType::Int32);
    return graph.add_op("", fbs::GatherT{}, {map, index}) * reshape_to(share, {positions, 1});
  };
  const Tensor right = x.share * x.inside, left = x.inside - right;
  const Tensor lower = y.share * y.inside, upper = y.inside - lower;
  const Tensor sum = corner(y.first, x.first, upper * left) + corner(y.first, x.second, upper * right) +
                     corner(y.second, x.first, lower * left) + corner(y.second, x.second, lower * right);
  op.set(reshape_to(sum, {to[0], to[1], to[2], to[3]}));
}

}  // namespace

// Outputs: the maximum of each window, and its index there, row by row; the first of equal ones.
void max_pooling_with_argmax_2d(Op& op) {
  const Window w = window_of(op);
  const Shape shape = map_shape(op, 0);
  const Padded rows = padding_of(w.padding, shape[1], w.filter_h, w.stride_h, 1);
  const Padded columns = padding_of(w.padding, shape[2], w.filter_w, w.stride_w, 1);
  const Tensor x = tflite::pad(op.tensor(0), {0, rows.before, columns.before, 0}, {0, rows.after, columns.after, 0},
                               std::numeric_limits<float>::lowest());
  const auto positions = [](int32_t size, int32_t filter, int32_t stride) { return (size - filter) / stride + 1; };
  if (x.shape()[1] < w.filter_h || x.shape()[2] < w.filter_w) op.refuse("a window larger than the map");
  const int32_t height = positions(x.shape()[1], w.filter_h, w.stride_h);
  const int32_t width = positions(x.shape()[2], w.filter_w, w.stride_w);
  std::optional<Tensor> most, index;
  for (int32_t row = 0; row < w.filter_h; ++row) {
    const Tensor in_row = pick(op, x, 1, height, [&](int64_t i) { return i * w.stride_h + row; });
    for (int32_t column = 0; column < w.filter_w; ++column) {
      const Tensor cell = pick(op, in_row, 2, width, [&](int64_t i) { return i * w.stride_w + column; });
      const double here = row * w.filter_w + column + kBesideInteger;
      if (!most) {
        index = cell * 0.0 + here;
        most = cell;
        continue;
      }
      index = select(binary(fbs::BinaryKind::Less, *most, cell), scalar(*index, here), *index);
      most = binary(fbs::BinaryKind::Max, *most, cell);
    }
  }
  op.set(0, activated(op, *most, w.activation));
  op.set(1, *index);
}

// Inputs: values and the indices of their places in windows, which do not overlap; 0 elsewhere.
void max_unpooling_2d(Op& op) {
  const Window w = window_of(op);
  const Shape shape = map_shape(op, 0);
  if (op.shape(1) != shape) op.refuse("indices %s for %s", to_string(op.shape(1)).c_str(), to_string(shape).c_str());
  if (w.stride_h != w.filter_h || w.stride_w != w.filter_w)
    op.refuse("strides %dx%d of windows %dx%d, expected the same", w.stride_h, w.stride_w, w.filter_h, w.filter_w);
  const int64_t height = int64_t{shape[1]} * w.filter_h, width = int64_t{shape[2]} * w.filter_w;
  if (height > kMaxElements / width) op.refuse("a map of more than " FERRY_MAX_ELEMENTS " elements");
  const Tensor values = op.tensor(0), index = unary(op.tensor(1), fbs::UnaryKind::Floor);
  const Tensor zero = scalar(values, 0);
  std::vector<Tensor> cells;
  for (int i = 0; i < w.filter_h * w.filter_w; ++i)
    cells.push_back(select(binary(fbs::BinaryKind::Equal, index, scalar(index, i)), values, zero));
  const Tensor all = reshape_to(concat(cells, 3), {shape[0], shape[1], shape[2], w.filter_h, w.filter_w, shape[3]});
  op.set(reshape_to(ferry::transpose(all, {0, 1, 3, 2, 4, 5}),
                    {shape[0], static_cast<int32_t>(height), static_cast<int32_t>(width), shape[3]}));
}

// Of version 1, a pixel's position is its corner; of version 2 its centre.
void transform_tensor(Op& op) { transform(op, 0); }
void transform_tensor_bilinear(Op& op) { transform(op, 0.5); }

}  // namespace ferry::tflite
