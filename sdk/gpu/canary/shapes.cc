#include "sdk/gpu/canary/shapes.h"

#include <algorithm>
#include <numeric>

#include "sdk/gpu/lowering/partition.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/size_code.h"

namespace ferry::gpu {
namespace {

struct Size {
  int32_t channels;
  int32_t rows;  // of a linear's input
};
constexpr Size kSizes[kCanarySizes] = {{20, 11}, {36, 37}, {260, 3}, {260, 37}};

// About `maximum`, a multiple of 4, with as many elements in the last quad.
int32_t fewer(int32_t n, int32_t maximum) { return n <= maximum ? n : maximum + n % 4; }

// At most so many in each dimension, counted from the last.
struct Limit {
  int32_t last, second, third, others;

  Shape operator()(Shape shape) const {
    for (int i = 0; i < shape.rank; ++i) {
      int32_t& d = shape[shape.rank - 1 - i];
      d = i == 0 ? fewer(d, last) : std::min(d, i == 1 ? second : i == 2 ? third : others);
    }
    return shape;
  }
};
constexpr Limit kElementwise{20, 23, 9, 2}, kReduced{36, 23, 9, 2}, kMoved{20, 7, 5, 2};
// Rows longer than a workgroup has quads.
constexpr Limit kSoftmax{260, 3, 3, 2};

// Pixels of an input from which windows give `count` outputs, one of them without padding.
int32_t pixels(int32_t count, int32_t size, int32_t kernel, int32_t dilation, int32_t stride, int32_t padding) {
  const int64_t reach = int64_t{kernel - 1} * dilation + 1;
  return static_cast<int32_t>(std::min<int64_t>(size, std::max(reach, int64_t{count - 1} * stride + reach - padding)));
}

template <typename Params>
void shrink_convolution(const Params& p, bool transposed, Size size, std::vector<Shape>* inputs) {
  Shape &x = (*inputs)[0], &weight = (*inputs)[1];
  const int32_t groups = p.groups();
  const int32_t maximum = groups == 1 ? size.channels : 8;
  // Depthwise kernels keep their channels, since `groups` is the operator's.
  const int32_t height = groups > 64 ? 3 : 9, width = groups > 64 ? 11 : 23;
  x[0] = std::min(x[0], 2);
  if (transposed) {
    x[1] = std::min(x[1], (height + p.pad_top() + p.pad_bottom()) / p.stride_h() + 1);
    x[2] = std::min(x[2], (width + p.pad_left() + p.pad_right()) / p.stride_w() + 1);
  } else {
    x[1] = pixels(height, x[1], weight[1], p.dilation_h(), p.stride_h(), p.pad_top() + p.pad_bottom());
    x[2] = pixels(width, x[2], weight[2], p.dilation_w(), p.stride_w(), p.pad_left() + p.pad_right());
  }
  weight[0] = fewer(weight[0] / groups, maximum) * groups;
  weight[3] = fewer(weight[3], maximum);
  x[3] = weight[3] * groups;
  if (inputs->size() > 2) (*inputs)[2] = {weight[0]};
}

// Offsets and the mask follow from the rest.
void shrink_deform_conv2d(const fbs::DeformConv2d& p, Size size, std::vector<Shape>* inputs) {
  Shape &x = (*inputs)[0], &weight = (*inputs)[1];
  const int32_t common = 4 * std::lcm(p.groups(), p.offset_groups());  // channels: groups and blocks end with quads
  x = {std::min(x[0], 2), pixels(5, x[1], weight[1], p.dilation_h(), p.stride_h(), p.pad_top() + p.pad_bottom()),
       pixels(9, x[2], weight[2], p.dilation_w(), p.stride_w(), p.pad_left() + p.pad_right()),
       common == 4 ? fewer(x[3], size.channels) : std::min(x[3], 2 * common)};
  weight[0] = fewer(weight[0] / p.groups(), p.groups() == 1 ? size.channels : 16) * p.groups();
  weight[3] = x[3] / p.groups();
  (*inputs)[2] = {weight[0]};
  const auto outputs = [](int32_t extent, int32_t kernel, int32_t dilation, int32_t stride) {
    return (extent - dilation * (kernel - 1) - 1) / stride + 1;
  };
  const int32_t cells = p.offset_groups() * weight[1] * weight[2];
  for (size_t i = 3; i < inputs->size(); ++i)
    (*inputs)[i] = {x[0], outputs(x[1] + p.pad_top() + p.pad_bottom(), weight[1], p.dilation_h(), p.stride_h()),
                    outputs(x[2] + p.pad_left() + p.pad_right(), weight[2], p.dilation_w(), p.stride_w()),
                    i == 3 ? 2 * cells : cells};
}

void shrink_linear(Size size, std::vector<Shape>* inputs) {
  Shape &x = (*inputs)[0], &weight = (*inputs)[1];
  x = Limit{size.channels, size.rows, 2, 2}(x);
  weight = {fewer(weight[0], size.channels), x[x.rank - 1]};
  if (inputs->size() > 2) (*inputs)[2] = {weight[0]};
}

void shrink_scales(const Type& type, const Shape& weight, Shape* scales) {
  if (type.block > 0) {
    *scales = weight;
    (*scales)[weight.rank - 1] /= type.block;
  } else if (*scales != Shape{1}) {
    *scales = {weight[type.axis]};
  }
}

// Weights of a channel each.
void shrink_vectors(std::vector<Shape>* inputs) {
  const Shape& x = (*inputs)[0];
  for (size_t i = 1; i < inputs->size(); ++i) (*inputs)[i] = {x[x.rank - 1]};
}

void shrink_group_norm(const fbs::GroupNorm& p, Size size, std::vector<Shape>* inputs) {
  Shape& x = (*inputs)[0];
  const int32_t group = fewer(x[x.rank - 1] / p.groups(), 8);
  // Few rows of a sample, more than a few invocations add up, more than many do.
  x = (size.channels == 20 ? Limit{20, 5, 3, 2} : size.channels == 36 ? Limit{20, 23, 9, 2} : Limit{20, 41, 33, 2})(x);
  x[x.rank - 1] = p.groups() * group;
  shrink_vectors(inputs);
}

// `same`: keys and values are one tensor.
void shrink_attention(const fbs::Attention& p, bool same, std::vector<Shape>* inputs) {
  Shape &q = (*inputs)[0], &k = (*inputs)[1], &v = (*inputs)[2];
  const int32_t width = v[2] / p.kv_heads(), depth = fewer(q[2] / p.heads(), 12), samples = q[0];
  const int32_t slots = width <= 32 ? 8 : width <= 64 ? 16 : 32;  // as in attention.cc
  q = {std::min(samples, inputs->size() > 3 ? 4 : 2), std::min(q[1], 35), p.heads() * depth};
  k = {q[0], std::min(k[1], 4 * slots + 3), p.kv_heads() * depth};
  if (p.causal()) q[1] = std::min(q[1], k[1]);
  v = {q[0], k[1], p.kv_heads() * fewer(width, width <= 32 ? 12 : width <= 64 ? 40 : width <= 128 ? 72 : 132)};
  if (same) q[2] = p.heads() * (v[2] / p.kv_heads());
  if (same) k = v;
  for (size_t i = 3; i < inputs->size() - (p.sinks() ? 1 : 0); ++i) {
    Shape& bias = (*inputs)[i];
    if (bias[0] != 1) bias[0] = bias[0] == samples ? q[0] : 2;
    if (bias[2] != 1) bias[2] = q[1];
    bias[3] = k[1];
  }
}

void shrink_matmul(const fbs::MatMul& p, Size size, std::vector<Shape>* inputs) {
  const bool depth_is_last[] = {!p.transpose_a(), p.transpose_b()};
  for (size_t i = 0; i < 2; ++i) {
    Shape& x = (*inputs)[i];
    for (int d = 0; d < x.rank - 2; ++d) x[d] = std::min(x[d], 2);
    int32_t &last = x[x.rank - 1], &other = x[x.rank - 2];
    int32_t &depth = depth_is_last[i] ? last : other, &own = depth_is_last[i] ? other : last;
    depth = fewer(depth, size.channels);
    own = fewer(own, i == 0 ? 36 : size.channels);
  }
}

void shrink_experts(Size size, std::vector<Shape>* inputs) {
  Shape &x = (*inputs)[0], &gate_up = (*inputs)[3], &down = (*inputs)[4];
  const int32_t maximum = std::max(size.channels, 96);  // more quads than invocations share a sum
  const int32_t hidden = fewer(down[2], maximum);
  x = Limit{maximum, 5, 2, 2}(x);
  const int32_t channels = x[x.rank - 1];
  for (size_t i = 1; i < 3; ++i)
    for (int d = 0; d + 1 < x.rank; ++d) (*inputs)[i][d] = x[d];
  gate_up = {kCanaryExperts, 2 * hidden, channels};
  down = {kCanaryExperts, channels, hidden};
  for (size_t i = 5; i < inputs->size(); ++i) (*inputs)[i] = {kCanaryExperts, i == 5 ? 2 * hidden : channels};
}

// The image's side of windows.
template <typename Params>
Shape fewer_windows(const Params& p, const Shape& image) {
  return {std::min(image[0], 2), p.window_h() * std::min(image[1] / p.window_h(), 3),
          p.window_w() * std::min(image[2] / p.window_w(), 2), fewer(image[3], 20)};
}

// Inputs and, where the operator's parameters are for the real shapes, the output: lowerings take it from there.
bool shrink_root(const fbs::Operator& op, Size size, std::vector<Shape>* inputs, Shape* output) {
  Shape& x = (*inputs)[0];
  // Of what only says a size no element is read.
  const Shape real = *output;
  const auto shrink_sizes = [&] {
    if (inputs->size() > 1) (*inputs)[1] = (*inputs)[1] == real ? *output : Shape{1};
    return true;
  };
  const auto all = [&](const Limit& limit) { std::transform(inputs->begin(), inputs->end(), inputs->begin(), limit); };
  switch (op.params_type()) {
    case fbs::OpParams::Conv2d: shrink_convolution(*op.params_as_Conv2d(), false, size, inputs); break;
    case fbs::OpParams::ConvTranspose2d: shrink_convolution(*op.params_as_ConvTranspose2d(), true, size, inputs); break;
    case fbs::OpParams::Linear: shrink_linear(size, inputs); break;
    case fbs::OpParams::Pool2d: {
      const fbs::Pool2d& p = *op.params_as_Pool2d();
      x[0] = std::min(x[0], 2);
      x[1] = pixels(9, x[1], p.kernel_h(), 1, p.stride_h(), p.pad_top() + p.pad_bottom());
      x[2] = pixels(11, x[2], p.kernel_w(), 1, p.stride_w(), p.pad_left() + p.pad_right());
      x[3] = fewer(x[3], 20);
      break;
    }
    case fbs::OpParams::Unary:
    case fbs::OpParams::Binary: all(kElementwise); break;
    case fbs::OpParams::Reduce: all(kReduced); break;
    case fbs::OpParams::Softmax: all(kSoftmax); break;
    case fbs::OpParams::Concat:
    case fbs::OpParams::Pad: all(kMoved); break;
    case fbs::OpParams::LayerNorm:
    case fbs::OpParams::Grn:
      x = Limit{size.channels, 23, 9, 2}(x);
      shrink_vectors(inputs);
      break;
    case fbs::OpParams::GroupNorm: shrink_group_norm(*op.params_as_GroupNorm(), size, inputs); break;
    case fbs::OpParams::Attention: {
      const bool same = op.inputs()->Get(1) == op.inputs()->Get(2);
      shrink_attention(*op.params_as_Attention(), same, inputs);
      break;
    }
    case fbs::OpParams::RotaryEmbedding: {
      const int32_t heads = op.params_as_RotaryEmbedding()->heads();
      x = {std::min(x[0], 2), std::min(x[1], 7), heads * fewer(x[2] / heads, 12)};
      (*inputs)[1] = (*inputs)[2] = {x[1], x[2] / heads};
      break;
    }
    case fbs::OpParams::WindowPartition: x = fewer_windows(*op.params_as_WindowPartition(), x); break;
    case fbs::OpParams::WindowReverse: {
      const fbs::WindowReverse& p = *op.params_as_WindowReverse();
      *output = fewer_windows(p, *output);
      x = {(*output)[0] * ((*output)[1] / p.window_h()) * ((*output)[2] / p.window_w()), x[1], (*output)[3]};
      return shrink_sizes();
    }
    case fbs::OpParams::Resize2d: {  // by about the same factor
      const Shape from = x;
      x = Limit{20, 9, 7, 2}(x);
      *output = {x[0], std::clamp(real[1] * x[1] / from[1], 1, 30), std::clamp(real[2] * x[2] / from[2], 1, 30), x[3]};
      return shrink_sizes();
    }
    case fbs::OpParams::PixelShuffle: {
      const int32_t cell = op.params_as_PixelShuffle()->factor() * op.params_as_PixelShuffle()->factor();
      const int32_t channels = fewer(x[3] / cell, 8);
      x = kMoved(x);
      x[3] = channels * cell;
      break;
    }
    case fbs::OpParams::Transpose:  // any dimension may become the last
      for (int d = 0; d < x.rank; ++d) x[d] = fewer(x[d], x.rank > 4 ? 4 : 8);
      break;
    case fbs::OpParams::Slice: {
      const Shape small = kMoved(*output);
      for (int d = 0; d < x.rank; ++d) {
        const int32_t begin = op.params_as_Slice()->begin()->Get(static_cast<unsigned>(d));
        const int32_t read = begin == kLastElements ? small[d] : begin < 0 ? -begin : begin + small[d];
        x[d] = std::min(x[d], read + 2);
      }
      *output = small;
      return shrink_sizes();
    }
    case fbs::OpParams::Reshape: {  // rows of one length to rows of another
      const auto row = [](const Shape& shape) { return shape.rank == 0 ? 1 : fewer(shape[shape.rank - 1], 20); };
      const int32_t from = row(x), to = row(*output) + (row(*output) == from ? 4 : 0);
      x = {to, from};
      *output = {from, to};
      return shrink_sizes();
    }
    case fbs::OpParams::Append:  // to an empty state
      *output = x = kMoved(x);
      return true;
    case fbs::OpParams::CausalConv1d:
      *output = x = {std::min(x[0], 2), 5, fewer(x[2], 20)};
      (*inputs)[1][1] = x[2];
      if (inputs->size() > 2) (*inputs)[2] = {x[2]};
      return true;
    case fbs::OpParams::GatedDeltaRule: {  // keys keep their size, which is the state's
      const int32_t heads = (*inputs)[3][2], width = fewer((*inputs)[2][2] / heads, 20);
      for (Shape& shape : *inputs) shape = {std::min(shape[0], 2), 3, shape[2]};
      (*inputs)[2][2] = heads * width;
      *output = (*inputs)[2];
      return true;
    }
    case fbs::OpParams::TopK: x = Limit{std::max(68, op.params_as_TopK()->k()), 3, 3, 2}(x); break;
    case fbs::OpParams::Gather:
    case fbs::OpParams::Scatter: {  // more places than the rows have elements, so that some are the same
      x = kMoved(x);
      x[x.rank - 1] = kCanaryRow;
      for (size_t i = 1; i < inputs->size(); ++i) {
        (*inputs)[i] = x;
        (*inputs)[i][x.rank - 1] = kCanaryRow + 5;
      }
      break;
    }
    case fbs::OpParams::MatMul: shrink_matmul(*op.params_as_MatMul(), size, inputs); break;
    case fbs::OpParams::Experts: shrink_experts(size, inputs); break;
    case fbs::OpParams::DeformConv2d: shrink_deform_conv2d(*op.params_as_DeformConv2d(), size, inputs); break;
#define FERRY_ON_CPU(Type, ...) case fbs::OpParams::Type:
      FERRY_OPERATORS_ON_CPU(FERRY_ON_CPU)
      FERRY_OPERATORS_WITH_STATE_ON_CPU(FERRY_ON_CPU)
#undef FERRY_ON_CPU
    case fbs::OpParams::NONE: return false;
  }
  return infer_shape(op, *inputs, output).ok();
}

}  // namespace

bool shrink(const Model& model, const std::vector<int>& operators, int size, Shapes* shapes) {
  const auto at = [&](TensorId tensor) -> Shape& { return (*shapes)[tensor]; };
  const fbs::Operator& root = operator_at(model, operators[0]);
  std::vector<Shape> inputs;
  for (TensorId tensor : *root.inputs()) inputs.push_back(at(tensor));
  Shape output = at(output_of(root));
  Size limit = kSizes[size];
  for (unsigned i = 0; i < inputs.size(); ++i) {
    const int32_t block = type_of(model.tensor(root.inputs()->Get(i))).block;
    if (block > 0) limit.channels = (kSizes[size].channels / block + 2) * block;  // two blocks at least
  }
  if (!shrink_root(root, limit, &inputs, &output)) return false;
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (const Type type = type_of(model.tensor(root.inputs()->Get(i))); type.quantized)
      shrink_scales(type, inputs[i], &at(type.scale));
  for (unsigned i = 0; i < inputs.size(); ++i) at(root.inputs()->Get(i)) = inputs[i];
  for (TensorId tensor : *root.outputs()) at(tensor) = output;

  // What rides has the root's output shape; what it reads has that, with a 1 where it had one.
  TensorId value = output_of(root);
  for (size_t i = 1; i < operators.size(); ++i) {
    const fbs::Operator& op = operator_at(model, operators[i]);
    for (TensorId tensor : *op.inputs()) {
      if (tensor == value) continue;
      Shape& shape = at(tensor);
      for (int d = 1; d <= shape.rank; ++d)
        if (shape[shape.rank - d] != 1) shape[shape.rank - d] = output[output.rank - d];
    }
    value = output_of(op);
    at(value) = output;
  }
  // One of them may be an input of the root, too.
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (at(root.inputs()->Get(i)) != inputs[i]) return false;
  return true;
}

}  // namespace ferry::gpu
