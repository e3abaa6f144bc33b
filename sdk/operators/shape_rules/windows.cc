#include "sdk/operators/shape_rules/rules.h"

#include <algorithm>

namespace ferry::shape_rules {

namespace {

struct Window {
  const char* side;  // for messages: "height"
  int64_t size, kernel, stride, dilation, before, after;
  bool ceil_mode;
};

// PyTorch's formula (torch.nn.Conv2d, torch.nn.MaxPool2d).
Status slide(const char* op, const Window& w, Shape* output) {
  const int64_t extent = w.dilation * (w.kernel - 1) + 1;
  const int64_t room = w.size + w.before + w.after - extent + (w.ceil_mode ? w.stride - 1 : 0);
  if (room < 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: a window of %s %lld does not fit an input of %lld, padded by %lld and %lld",
                 op, w.side, static_cast<long long>(extent), static_cast<long long>(w.size),
                 static_cast<long long>(w.before), static_cast<long long>(w.after));
  int64_t count = room / w.stride + 1;
  if (w.ceil_mode && (count - 1) * w.stride >= w.size + w.before) --count;
  return append(op, count, output);
}

template <typename Params>
Status check_window(const char* op, const Params& p) {
  FERRY_TRY(check_parameter(op, "stride_h", p.stride_h(), 1));
  FERRY_TRY(check_parameter(op, "stride_w", p.stride_w(), 1));
  FERRY_TRY(check_parameter(op, "pad_top", p.pad_top(), 0));
  FERRY_TRY(check_parameter(op, "pad_left", p.pad_left(), 0));
  FERRY_TRY(check_parameter(op, "pad_bottom", p.pad_bottom(), 0));
  return check_parameter(op, "pad_right", p.pad_right(), 0);
}

// Common checks of all convolutions.
template <typename Params>
Status check_kernel(const char* op, const Params& p, Shapes inputs) {
  FERRY_TRY(check_window(op, p));
  FERRY_TRY(check_parameter(op, "dilation_h", p.dilation_h(), 1));
  FERRY_TRY(check_parameter(op, "dilation_w", p.dilation_w(), 1));
  FERRY_TRY(check_parameter(op, "groups", p.groups(), 1));
  const Shape &x = inputs[0], &weight = inputs[1];
  FERRY_TRY(check_rank(op, "input", x, 4));
  FERRY_TRY(check_rank(op, "weight", weight, 4));
  FERRY_TRY(check_parameter(op, "the kernel's height", weight[1], 1));
  FERRY_TRY(check_parameter(op, "the kernel's width", weight[2], 1));
  const int64_t channels = int64_t{weight[3]} * p.groups();
  if (channels != x[3])
    return error(FERRY_SHAPE_MISMATCH, "%s: weight %s expects %lld input channels, got %d", op,
                 in_words(weight).c_str(), static_cast<long long>(channels), x[3]);
  if (weight[0] % p.groups() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d output channels do not divide into %d groups", op, weight[0],
                 p.groups());
  return inputs.size() > 2 ? check_bias(op, inputs[2], weight[0]) : Status();
}

// Common checks of conv2d and conv_transpose2d.
template <typename Params>
Status check_convolution(const char* op, const Params& p, Shapes inputs) {
  FERRY_TRY(check_count(op, inputs, 2, 3));
  FERRY_TRY(check_clamp(op, p.output_min(), p.output_max()));
  return check_kernel(op, p, inputs);
}

// The output shape of a kernel that slides over the image.
template <typename Params>
Status convolve(const char* op, const Params& p, const Shape& x, const Shape& weight, Shape* output) {
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(
      slide(op, {"height", x[1], weight[1], p.stride_h(), p.dilation_h(), p.pad_top(), p.pad_bottom(), false}, output));
  FERRY_TRY(
      slide(op, {"width", x[2], weight[2], p.stride_w(), p.dilation_w(), p.pad_left(), p.pad_right(), false}, output));
  return append(op, weight[0], output);
}

// Checks the offsets or the mask of a deformable convolution, with `each` elements per kernel cell.
Status check_cells(const char* op, const char* what, const Shape& shape, const Shape& output, int64_t each) {
  if (shape.rank == 4 && shape[0] == output[0] && shape[1] == output[1] && shape[2] == output[2] && shape[3] == each)
    return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: %s %s, expected [%d,%d,%d,%lld]", op, what, in_words(shape).c_str(),
               output[0], output[1], output[2], static_cast<long long>(each));
}

}  // namespace

Status rule(const char* op, const fbs::Conv2d& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_convolution(op, p, inputs));
  return convolve(op, p, inputs[0], inputs[1], output);
}

Status rule(const char* op, const fbs::DeformConv2d& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 4, 5));
  FERRY_TRY(check_kernel(op, p, inputs));
  FERRY_TRY(check_parameter(op, "offset_groups", p.offset_groups(), 1));
  const Shape &x = inputs[0], &weight = inputs[1];
  if (x[3] % p.offset_groups() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d input channels do not divide into %d offset groups", op, x[3],
                 p.offset_groups());
  FERRY_TRY(convolve(op, p, x, weight, output));
  const int64_t cells = int64_t{p.offset_groups()} * weight[1] * weight[2];
  FERRY_TRY(check_cells(op, "offsets", inputs[3], *output, 2 * cells));
  return inputs.size() > 4 ? check_cells(op, "mask", inputs[4], *output, cells) : Status();
}

Status rule(const char* op, const fbs::ConvTranspose2d& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_convolution(op, p, inputs));
  if (p.output_padding_h() < 0 || p.output_padding_h() >= p.stride_h() || p.output_padding_w() < 0 ||
      p.output_padding_w() >= p.stride_w())
    return error(FERRY_CORRUPT, "%s: output padding %dx%d is not on 0 to below the strides %dx%d", op,
                 p.output_padding_h(), p.output_padding_w(), p.stride_h(), p.stride_w());
  const Shape &x = inputs[0], &weight = inputs[1];
  const auto spread = [](int64_t size, int64_t kernel, int64_t stride, int64_t dilation) {
    return (size - 1) * stride + dilation * (kernel - 1) + 1;
  };
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(append(
      op, spread(x[1], weight[1], p.stride_h(), p.dilation_h()) - p.pad_top() - p.pad_bottom() + p.output_padding_h(),
      output));
  FERRY_TRY(append(
      op, spread(x[2], weight[2], p.stride_w(), p.dilation_w()) - p.pad_left() - p.pad_right() + p.output_padding_w(),
      output));
  return append(op, weight[0], output);
}

Status rule(const char* op, const fbs::Pool2d& p, Shapes inputs, Shape* output) {
  if (p.kind() > fbs::PoolKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  FERRY_TRY(check_window(op, p));
  FERRY_TRY(check_parameter(op, "kernel_h", p.kernel_h(), 1));
  FERRY_TRY(check_parameter(op, "kernel_w", p.kernel_w(), 1));
  // If the padding is smaller than the kernel, every window has a cell inside the input.
  if (std::max(p.pad_top(), p.pad_bottom()) >= p.kernel_h() || std::max(p.pad_left(), p.pad_right()) >= p.kernel_w())
    return error(FERRY_CORRUPT, "%s: padding %d,%d,%d,%d is not smaller than the kernel %dx%d", op, p.pad_top(),
                 p.pad_left(), p.pad_bottom(), p.pad_right(), p.kernel_h(), p.kernel_w());
  FERRY_TRY(check_image(op, inputs));
  const Shape& x = inputs[0];
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(
      slide(op, {"height", x[1], p.kernel_h(), p.stride_h(), 1, p.pad_top(), p.pad_bottom(), p.ceil_mode()}, output));
  FERRY_TRY(
      slide(op, {"width", x[2], p.kernel_w(), p.stride_w(), 1, p.pad_left(), p.pad_right(), p.ceil_mode()}, output));
  return append(op, x[3], output);
}

}  // namespace ferry::shape_rules
