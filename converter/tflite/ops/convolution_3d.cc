// Convolutions in 3D: the kernel's cells along the depth become channels of 2D maps. Maps are N,D,H,W,C.
#include <limits>

#include "converter/tflite/ops/ops.h"
#include "converter/tflite/ops/window.h"

namespace ferry::tflite {
namespace {

struct Depth {
  int32_t kernel, stride, dilation, outputs;
};

Shape volume_shape(const Op& op, size_t input) {
  const Shape shape = op.shape(input);
  if (shape.rank != 5) op.refuse("input %zu has %d dimensions, expected 5", input, shape.rank);
  return shape;
}

// A size of 32 bits.
int32_t product(const Op& op, std::initializer_list<int32_t> sizes) {
  int64_t all = 1;
  for (const int32_t size : sizes)
    if (all *= size; all > std::numeric_limits<int32_t>::max())
      op.refuse("sizes whose product %lld exceeds 32 bits", static_cast<long long>(all));
  return static_cast<int32_t>(all);
}

// x [N,D,H,W,C], whose depth has what `depth` reaches, as maps [N*outputs,H,W,KD*C].
Tensor as_maps(const Op& op, Tensor x, const Depth& depth) {
  const Shape from = x.shape();
  op.count_computed(int64_t{depth.kernel} * depth.outputs);
  std::vector<Tensor> cells;
  for (int32_t k = 0; k < depth.kernel; ++k) {
    const int32_t first = k * depth.dilation;
    cells.push_back(depth.stride == 1
                        ? ferry::slice(x, 1, first, depth.outputs)
                        : pick(op, x, 1, depth.outputs, [&](int64_t i) { return first + i * depth.stride; }));
  }
  return reshape_to(concat(cells, 4),
                    {product(op, {from[0], depth.outputs}), from[2], from[3], product(op, {from[4], depth.kernel})});
}

// The filter KD,KH,KW,... as O,KH,KW,KD*I. `backwards`: it has O before I, and its depth is reversed.
Tensor filter_of_maps(const Op& op, bool backwards) {
  const Tensor filter = op.weight(1, "the filter");
  const Shape w = volume_shape(op, 1);
  const auto depth = static_cast<size_t>(w[0]), cells = static_cast<size_t>(w[1]) * static_cast<size_t>(w[2]);
  const auto inputs = static_cast<size_t>(backwards ? w[4] : w[3]),
             outputs = static_cast<size_t>(backwards ? w[3] : w[4]);
  const std::vector<double> values = op.graph().values(filter.id);
  std::vector<double> moved(values.size());
  size_t at = 0;
  for (size_t o = 0; o < outputs; ++o)
    for (size_t cell = 0; cell < cells; ++cell)
      for (size_t k = 0; k < depth; ++k)
        for (size_t i = 0; i < inputs; ++i) {
          const size_t plane = (backwards ? depth - 1 - k : k) * cells + cell;
          moved[at++] = values[backwards ? (plane * outputs + o) * inputs + i : (plane * inputs + i) * outputs + o];
        }
  return op.graph().add_constant(op.graph().at(filter.id).name,
                                 Shape{static_cast<int32_t>(outputs), w[1], w[2], static_cast<int32_t>(depth * inputs)},
                                 std::move(moved));
}

// `maps` [N*outputs,H,W,C] as [N,outputs,H,W,C].
Tensor as_volume(Tensor maps, int32_t batch, int32_t outputs) {
  const Shape s = maps.shape();
  return reshape_to(maps, {batch, outputs, s[1], s[2], s[3]});
}

// `x` with `before` and `after` planes of zeros along the depth; a negative number cuts off the end.
Tensor with_margins(Tensor x, int32_t before, int32_t after) {
  if (after < 0) x = ferry::slice(x, 1, 0, x.shape()[1] + after);
  return tflite::pad(x, {0, before, 0, 0, 0}, {0, std::max(after, 0), 0, 0, 0});
}

// Inserts stride - 1 planes of zeros between those of x.
Tensor spread(const Op& op, Tensor x, int32_t stride) {
  if (stride == 1) return x;
  const Shape s = x.shape();
  const Tensor planes = reshape_to(x, {s[0], s[1], 1, product(op, {s[2], s[3], s[4]})});
  const Tensor padded = tflite::pad(planes, {0, 0, 0, 0}, {0, 0, stride - 1, 0});
  return ferry::slice(reshape_to(padded, {s[0], product(op, {s[1], stride}), s[2], s[3], s[4]}), 1, 0,
                      (s[1] - 1) * stride + 1);
}

}  // namespace

void conv_3d(Op& op) {
  const auto& o = op.options<schema::Conv3DOptions>();
  const Shape x = volume_shape(op, 0), w = volume_shape(op, 1);
  if (x[4] != w[3]) op.refuse("a filter of %d channels, the input has %d", w[3], x[4]);
  check_window(op, {o.stride_d(), o.stride_h(), o.stride_w(), o.dilation_d_factor(), o.dilation_h_factor(),
                    o.dilation_w_factor(), w[0], w[1], w[2]});
  const Padded margin = padding_of(o.padding(), x[1], w[0], o.stride_d(), o.dilation_d_factor());
  const Tensor padded = with_margins(op.tensor(0), margin.before, margin.after);
  const int64_t reach = int64_t{w[0] - 1} * o.dilation_d_factor() + 1, room = padded.shape()[1] - reach;
  if (room < 0) op.refuse("a filter that is deeper than the map");
  const Depth depth = {w[0], o.stride_d(), o.dilation_d_factor(), static_cast<int32_t>(room / o.stride_d()) + 1};
  fbs::Conv2dT params;
  params.stride_h = o.stride_h();
  params.stride_w = o.stride_w();
  params.dilation_h = o.dilation_h_factor();
  params.dilation_w = o.dilation_w_factor();
  set_padding(&params, padding_of(o.padding(), x[2], w[1], o.stride_h(), o.dilation_h_factor()),
              padding_of(o.padding(), x[3], w[2], o.stride_w(), o.dilation_w_factor()));
  std::vector<Tensor> inputs = {as_maps(op, padded, depth), filter_of_maps(op, /*backwards=*/false)};
  if (op.has(2)) inputs.push_back(op.weight(2, "the bias"));
  const Tensor y = as_volume(op.graph().add_op("", params, inputs), x[0], depth.outputs);
  op.set(activated(op, y, o.fused_activation_function()));
}

// inputs: the output's shape, the filter KD,KH,KW,O,I, the map, and perhaps a bias.
void conv_3d_transpose(Op& op) {
  const auto& o = op.options<schema::Conv3DOptions>();
  const std::vector<int64_t> to = op.integers(0, "the output's shape");
  const Shape x = volume_shape(op, 2), w = volume_shape(op, 1);
  if (to.size() != 5) op.refuse("the output's shape has %zu sizes, expected 5", to.size());
  for (const int64_t size : to)
    if (size < 1 || size > 1 << 24) op.refuse("the output's shape has a size of %lld", static_cast<long long>(size));
  if (x[4] != w[4]) op.refuse("a filter of %d channels, the input has %d", w[4], x[4]);
  if (o.dilation_d_factor() != 1 || o.dilation_h_factor() != 1 || o.dilation_w_factor() != 1)
    op.refuse("its filter is dilated");
  check_window(op, {o.stride_d(), w[0], x[1]});
  // Along the depth, it is a convolution over the input with zeros between its planes.
  const auto outputs = static_cast<int32_t>(to[1]);
  const Tensor planes = spread(op, op.tensor(2), o.stride_d());
  const int32_t before = w[0] - 1 - padding_of(o.padding(), outputs, w[0], o.stride_d(), 1).before;
  const Tensor padded = with_margins(planes, before, outputs + w[0] - 1 - before - planes.shape()[1]);
  const Tensor maps = as_maps(op, padded, {w[0], 1, 1, outputs});
  const Tensor y = transposed(op, maps, filter_of_maps(op, /*backwards=*/true), o.padding(), o.stride_h(), o.stride_w(),
                              static_cast<int32_t>(to[2]), static_cast<int32_t>(to[3]), op.has(3), 3);
  op.set(activated(op, as_volume(y, x[0], outputs), o.fused_activation_function()));
}

}  // namespace ferry::tflite
