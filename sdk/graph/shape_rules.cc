#include "sdk/graph/shape_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry {
namespace {

using Shapes = std::span<const Shape>;

// Far above what any network uses, and low enough that sums and products of two stay far inside 64 bits.
constexpr int32_t kMaxParameter = 1 << 20;
constexpr int64_t kMaxElements = int64_t{1} << 40;

// ---- checks that several rules share --------------------------------------------------------------------------------

Status check_count(const char* op, Shapes inputs, size_t least, size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return {};
  if (least == most)
    return error(FERRY_CORRUPT, "%s: takes %zu input%s, got %zu", op, least, least == 1 ? "" : "s", inputs.size());
  return error(FERRY_CORRUPT, "%s: takes %zu to %zu inputs, got %zu", op, least, most, inputs.size());
}

Status check_rank(const char* op, const char* what, const Shape& shape, int rank) {
  if (shape.rank == rank) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has rank %d, expected %d", op, what, to_string(shape).c_str(),
               shape.rank, rank);
}

// One input of layout [N,H,W,C].
Status check_image(const char* op, Shapes inputs) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  return check_rank(op, "input", inputs[0], 4);
}

Status check_parameter(const char* op, const char* what, int32_t value, int32_t least) {
  if (value >= least && value <= kMaxParameter) return {};
  return error(FERRY_CORRUPT, "%s: %s is %d, expected %d to %d", op, what, value, least, kMaxParameter);
}

Status check_clamp(const char* op, float low, float high) {
  if (low <= high) return {};  // false for NaN
  return error(FERRY_CORRUPT, "%s: clamps to [%g, %g], expected a minimum not above the maximum", op,
               static_cast<double>(low), static_cast<double>(high));
}

Status check_bias(const char* op, const Shape& bias, int32_t channels) {
  if (bias == Shape{channels}) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: bias %s does not fit %d output channels, expected [%d]", op,
               to_string(bias).c_str(), channels, channels);
}

// Appends a dimension to `shape`.
Status append(const char* op, int64_t dimension, Shape* shape) {
  if (dimension < 1 || dimension > std::numeric_limits<int32_t>::max())
    return error(FERRY_SHAPE_MISMATCH, "%s: output dimension %d would be %lld, expected 1 to 2147483647", op,
                 shape->rank, static_cast<long long>(dimension));
  if (shape->rank == FERRY_MAX_RANK)
    return error(FERRY_SHAPE_MISMATCH, "%s: the output has more than %d dimensions", op, FERRY_MAX_RANK);
  (*shape)[shape->rank++] = static_cast<int32_t>(dimension);
  return {};
}

// The length of a parameter list; 0 where it is missing.
int length(const flatbuffers::Vector<int32_t>* list) { return list ? static_cast<int>(list->size()) : 0; }
int32_t at(const flatbuffers::Vector<int32_t>* list, int i) { return list->Get(static_cast<unsigned>(i)); }

Status check_length(const char* op, const char* what, const flatbuffers::Vector<int32_t>* list, const Shape& shape) {
  if (length(list) == shape.rank) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: %s has %d entries for input %s, expected %d", op, what, length(list),
               to_string(shape).c_str(), shape.rank);
}

// ---- windows --------------------------------------------------------------------------------------------------------

struct Window {
  const char* side;  // "height"
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

// What conv2d and conv_transpose2d have in common.
template <typename Params>
Status check_convolution(const char* op, const Params& p, Shapes inputs) {
  FERRY_TRY(check_count(op, inputs, 2, 3));
  FERRY_TRY(check_window(op, p));
  FERRY_TRY(check_parameter(op, "dilation_h", p.dilation_h(), 1));
  FERRY_TRY(check_parameter(op, "dilation_w", p.dilation_w(), 1));
  FERRY_TRY(check_parameter(op, "groups", p.groups(), 1));
  FERRY_TRY(check_clamp(op, p.output_min(), p.output_max()));
  const Shape &x = inputs[0], &weight = inputs[1];
  FERRY_TRY(check_rank(op, "input", x, 4));
  FERRY_TRY(check_rank(op, "weight", weight, 4));
  FERRY_TRY(check_parameter(op, "the kernel's height", weight[1], 1));
  FERRY_TRY(check_parameter(op, "the kernel's width", weight[2], 1));
  const int64_t channels = int64_t{weight[3]} * p.groups();
  if (channels != x[3])
    return error(FERRY_SHAPE_MISMATCH, "%s: weight %s expects %lld input channels, got %d", op,
                 to_string(weight).c_str(), static_cast<long long>(channels), x[3]);
  if (weight[0] % p.groups() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d output channels do not divide into %d groups", op, weight[0],
                 p.groups());
  return inputs.size() == 3 ? check_bias(op, inputs[2], weight[0]) : Status();
}

Status rule(const char* op, const fbs::Conv2d& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_convolution(op, p, inputs));
  const Shape &x = inputs[0], &weight = inputs[1];
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(
      slide(op, {"height", x[1], weight[1], p.stride_h(), p.dilation_h(), p.pad_top(), p.pad_bottom(), false}, output));
  FERRY_TRY(
      slide(op, {"width", x[2], weight[2], p.stride_w(), p.dilation_w(), p.pad_left(), p.pad_right(), false}, output));
  return append(op, weight[0], output);
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
  // Less padding than kernel leaves at least one real cell in every window.
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

// ---- arithmetic -----------------------------------------------------------------------------------------------------

Status rule(const char* op, const fbs::Linear& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 3));
  FERRY_TRY(check_clamp(op, p.output_min(), p.output_max()));
  const Shape &x = inputs[0], &weight = inputs[1];
  FERRY_TRY(check_rank(op, "weight", weight, 2));
  if (x.rank < 1) return error(FERRY_SHAPE_MISMATCH, "%s: the input is a scalar, expected at least one dimension", op);
  if (x[x.rank - 1] != weight[1])
    return error(FERRY_SHAPE_MISMATCH, "%s: weight %s expects %d input channels, got %d", op, to_string(weight).c_str(),
                 weight[1], x[x.rank - 1]);
  if (inputs.size() == 3) FERRY_TRY(check_bias(op, inputs[2], weight[0]));
  *output = x;
  (*output)[x.rank - 1] = weight[0];
  return {};
}

Status rule(const char* op, const fbs::Unary& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.kind() > fbs::UnaryKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  if (p.kind() == fbs::UnaryKind::Clamp) FERRY_TRY(check_clamp(op, p.alpha(), p.beta()));
  if (p.kind() == fbs::UnaryKind::LeakyRelu && !std::isfinite(p.alpha()))
    return error(FERRY_CORRUPT, "%s: the slope of a leaky ReLU is %g, expected a finite number", op,
                 static_cast<double>(p.alpha()));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Binary& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 2));
  if (p.kind() > fbs::BinaryKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  FERRY_TRY(check_clamp(op, p.output_min(), p.output_max()));
  const Shape &a = inputs[0], &b = inputs[1];
  const int rank = std::max(a.rank, b.rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    const int32_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s and %s do not broadcast", op, to_string(a).c_str(),
                   to_string(b).c_str());
    FERRY_TRY(append(op, std::max(da, db), output));
  }
  return {};
}

Status rule(const char* op, const fbs::Reduce& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.kind() > fbs::ReduceKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  const Shape& x = inputs[0];
  const int count = length(p.axes());
  if (count == 0) return error(FERRY_CORRUPT, "%s: no axes, expected at least one", op);
  std::array<bool, FERRY_MAX_RANK> reduced{};
  for (int i = 0; i < count; ++i) {
    const int32_t axis = at(p.axes(), i);
    if (axis < 0 || (i > 0 && axis <= at(p.axes(), i - 1)))
      return error(FERRY_CORRUPT, "%s: axis %d is out of order, expected ascending axes from 0", op, axis);
    if (axis >= x.rank)
      return error(FERRY_SHAPE_MISMATCH, "%s: axis %d is outside input %s", op, axis, to_string(x).c_str());
    reduced[static_cast<size_t>(axis)] = true;
  }
  for (int i = 0; i < x.rank; ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      FERRY_TRY(append(op, x[i], output));
    } else if (p.keep_dims()) {
      FERRY_TRY(append(op, 1, output));
    }
  }
  return {};
}

Status rule(const char* op, const fbs::Softmax&, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (inputs[0].rank < 1)
    return error(FERRY_SHAPE_MISMATCH, "%s: the input is a scalar, expected at least one dimension", op);
  *output = inputs[0];
  return {};
}

// ---- normalization and attention -------------------------------------------------------------------------------------

// x, then a weight and a bias, one of each a channel; `rank` at least.
Status check_norm(const char* op, float epsilon, Shapes inputs, int rank) {
  FERRY_TRY(check_count(op, inputs, 3, 3));
  if (!(epsilon >= 0) || !std::isfinite(epsilon))
    return error(FERRY_CORRUPT, "%s: epsilon is %g, expected a finite number from 0", op, static_cast<double>(epsilon));
  const Shape& x = inputs[0];
  if (x.rank < rank)
    return error(FERRY_SHAPE_MISMATCH, "%s: input %s has rank %d, expected %d or more", op, to_string(x).c_str(),
                 x.rank, rank);
  const Shape channels{x[x.rank - 1]};
  if (inputs[1] == channels && inputs[2] == channels) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: weight %s and bias %s do not fit %d channels", op,
               to_string(inputs[1]).c_str(), to_string(inputs[2]).c_str(), channels[0]);
}

Status rule(const char* op, const fbs::LayerNorm& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_norm(op, p.epsilon(), inputs, 1));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::GroupNorm& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_norm(op, p.epsilon(), inputs, 2));
  FERRY_TRY(check_parameter(op, "groups", p.groups(), 1));
  const Shape& x = inputs[0];
  if (x[x.rank - 1] % p.groups() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d channels do not divide into %d groups", op, x[x.rank - 1], p.groups());
  *output = x;
  return {};
}

Status rule(const char* op, const fbs::Grn& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_norm(op, p.epsilon(), inputs, 4));
  FERRY_TRY(check_rank(op, "input", inputs[0], 4));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Attention& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 3, 5));
  FERRY_TRY(check_parameter(op, "heads", p.heads(), 1));
  FERRY_TRY(check_parameter(op, "kv_heads", p.kv_heads(), 1));
  if (p.heads() % p.kv_heads() != 0)
    return error(FERRY_CORRUPT, "%s: %d heads do not divide among %d key and value heads", op, p.heads(), p.kv_heads());
  if (!std::isfinite(p.scale()))
    return error(FERRY_CORRUPT, "%s: the scale is %g, expected a finite number", op, static_cast<double>(p.scale()));
  const Shape &q = inputs[0], &k = inputs[1], &v = inputs[2];
  FERRY_TRY(check_rank(op, "query", q, 3));
  FERRY_TRY(check_rank(op, "key", k, 3));
  FERRY_TRY(check_rank(op, "value", v, 3));
  if (q[2] % p.heads() != 0 || v[2] % p.kv_heads() != 0 || int64_t{k[2]} * p.heads() != int64_t{q[2]} * p.kv_heads() ||
      k[0] != q[0] || v[0] != q[0] || v[1] != k[1])
    return error(FERRY_SHAPE_MISMATCH, "%s: query %s, key %s and value %s do not fit %d heads and %d of keys", op,
                 to_string(q).c_str(), to_string(k).c_str(), to_string(v).c_str(), p.heads(), p.kv_heads());
  for (const Shape& bias : inputs.subspan(3)) {
    FERRY_TRY(check_rank(op, "bias", bias, 4));
    if (q[0] % bias[0] != 0 || (bias[1] != 1 && bias[1] != p.heads()) || (bias[2] != 1 && bias[2] != q[1]) ||
        bias[3] != k[1])
      return error(FERRY_SHAPE_MISMATCH, "%s: bias %s does not fit %d samples, %d heads, %d queries and %d keys", op,
                   to_string(bias).c_str(), q[0], p.heads(), q[1], k[1]);
  }
  FERRY_TRY(append(op, q[0], output));
  FERRY_TRY(append(op, q[1], output));
  return append(op, int64_t{v[2]} / p.kv_heads() * p.heads(), output);
}

Status rule(const char* op, const fbs::RotaryEmbedding& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 3, 3));
  FERRY_TRY(check_parameter(op, "heads", p.heads(), 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_rank(op, "input", x, 3));
  if (x[2] % p.heads() != 0 || x[2] / p.heads() % 2 != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d channels do not divide into %d heads of an even size", op, x[2],
                 p.heads());
  const Shape table{x[1], x[2] / p.heads()};
  if (inputs[1] != table || inputs[2] != table)
    return error(FERRY_SHAPE_MISMATCH, "%s: cos %s and sin %s do not fit input %s, expected %s", op,
                 to_string(inputs[1]).c_str(), to_string(inputs[2]).c_str(), to_string(x).c_str(),
                 to_string(table).c_str());
  *output = x;
  return {};
}

template <typename Params>
Status check_windows(const char* op, const Params& p, int32_t height, int32_t width) {
  FERRY_TRY(check_parameter(op, "window_h", p.window_h(), 1));
  FERRY_TRY(check_parameter(op, "window_w", p.window_w(), 1));
  FERRY_TRY(check_parameter(op, "shift_h", p.shift_h(), 0));
  FERRY_TRY(check_parameter(op, "shift_w", p.shift_w(), 0));
  if (p.shift_h() >= p.window_h() || p.shift_w() >= p.window_w())
    return error(FERRY_CORRUPT, "%s: a shift of %dx%d is not below the window, %dx%d", op, p.shift_h(), p.shift_w(),
                 p.window_h(), p.window_w());
  if (height % p.window_h() != 0 || width % p.window_w() != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %dx%d does not divide into windows of %dx%d", op, height, width,
                 p.window_h(), p.window_w());
  return {};
}

Status rule(const char* op, const fbs::WindowPartition& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_image(op, inputs));
  const Shape& x = inputs[0];
  FERRY_TRY(check_windows(op, p, x[1], x[2]));
  FERRY_TRY(append(op, int64_t{x[0]} * (x[1] / p.window_h()) * (x[2] / p.window_w()), output));
  FERRY_TRY(append(op, int64_t{p.window_h()} * p.window_w(), output));
  return append(op, x[3], output);
}

Status rule(const char* op, const fbs::WindowReverse& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  FERRY_TRY(check_parameter(op, "height", p.height(), 1));
  FERRY_TRY(check_parameter(op, "width", p.width(), 1));
  FERRY_TRY(check_windows(op, p, p.height(), p.width()));
  const Shape& x = inputs[0];
  FERRY_TRY(check_rank(op, "input", x, 3));
  const int64_t windows = int64_t{p.height() / p.window_h()} * (p.width() / p.window_w());
  if (x[0] % windows != 0 || x[1] != int64_t{p.window_h()} * p.window_w())
    return error(FERRY_SHAPE_MISMATCH, "%s: %s does not hold pictures of %dx%d in windows of %dx%d", op,
                 to_string(x).c_str(), p.height(), p.width(), p.window_h(), p.window_w());
  FERRY_TRY(append(op, x[0] / windows, output));
  FERRY_TRY(append(op, p.height(), output));
  FERRY_TRY(append(op, p.width(), output));
  return append(op, x[2], output);
}

// ---- movement -------------------------------------------------------------------------------------------------------

Status rule(const char* op, const fbs::Concat& p, Shapes inputs, Shape* output) {
  if (inputs.empty()) return error(FERRY_CORRUPT, "%s: takes at least 1 input, got 0", op);
  const Shape& first = inputs[0];
  if (p.axis() < 0) return error(FERRY_CORRUPT, "%s: axis is %d, expected 0 or more", op, p.axis());
  if (p.axis() >= first.rank)
    return error(FERRY_SHAPE_MISMATCH, "%s: axis %d is outside input %s", op, p.axis(), to_string(first).c_str());
  int64_t total = 0;
  for (const Shape& x : inputs) {
    Shape aligned = x;
    if (x.rank == first.rank) aligned[p.axis()] = first[p.axis()];
    if (aligned != first)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s does not join %s along axis %d", op, to_string(x).c_str(),
                   to_string(first).c_str(), p.axis());
    total += x[p.axis()];  // at most 2^31 inputs of 2^31
  }
  for (int i = 0; i < first.rank; ++i) FERRY_TRY(append(op, i == p.axis() ? total : first[i], output));
  return {};
}

Status rule(const char* op, const fbs::PixelShuffle& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_parameter(op, "factor", p.factor(), 1));
  FERRY_TRY(check_image(op, inputs));
  const Shape& x = inputs[0];
  const int64_t factor = p.factor();
  if (x[3] % (factor * factor) != 0)
    return error(FERRY_SHAPE_MISMATCH, "%s: %d channels are not a multiple of %lld, the factor's square", op, x[3],
                 static_cast<long long>(factor * factor));
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(append(op, x[1] * factor, output));
  FERRY_TRY(append(op, x[2] * factor, output));
  return append(op, x[3] / (factor * factor), output);
}

Status rule(const char* op, const fbs::Resize2d& p, Shapes inputs, Shape* output) {
  if (p.kind() > fbs::ResizeKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown kind %d", op, static_cast<int>(p.kind()));
  FERRY_TRY(check_parameter(op, "scale_h", p.scale_h(), 1));
  FERRY_TRY(check_parameter(op, "scale_w", p.scale_w(), 1));
  FERRY_TRY(check_parameter(op, "height", p.height(), 0));
  FERRY_TRY(check_parameter(op, "width", p.width(), 0));
  FERRY_TRY(check_image(op, inputs));
  const Shape& x = inputs[0];
  FERRY_TRY(append(op, x[0], output));
  FERRY_TRY(append(op, p.height() > 0 ? p.height() : int64_t{x[1]} * p.scale_h(), output));
  FERRY_TRY(append(op, p.width() > 0 ? p.width() : int64_t{x[2]} * p.scale_w(), output));
  return append(op, x[3], output);
}

Status rule(const char* op, const fbs::Pad& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_length(op, "before", p.before(), x));
  FERRY_TRY(check_length(op, "after", p.after(), x));
  for (int i = 0; i < x.rank; ++i) {
    FERRY_TRY(check_parameter(op, "an entry of before", at(p.before(), i), 0));
    FERRY_TRY(check_parameter(op, "an entry of after", at(p.after(), i), 0));
    FERRY_TRY(append(op, int64_t{x[i]} + at(p.before(), i) + at(p.after(), i), output));
  }
  return {};
}

Status rule(const char* op, const fbs::Reshape& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  int inferred = -1;
  int64_t known = 1;  // never above kMaxElements + 1
  for (int i = 0; i < length(p.shape()); ++i) {
    int32_t d = at(p.shape(), i);
    if (d < -1) return error(FERRY_CORRUPT, "%s: dimension %d is %d, expected -1 or more", op, i, d);
    if (d == -1 && inferred >= 0)
      return error(FERRY_CORRUPT, "%s: dimensions %d and %d are both -1, expected at most one", op, inferred, i);
    if (d == 0) {
      if (i >= x.rank)
        return error(FERRY_SHAPE_MISMATCH, "%s: dimension %d copies the input's, but the input is %s", op, i,
                     to_string(x).c_str());
      d = x[i];
    }
    if (d == -1) {
      inferred = i;
      d = 1;
    }
    FERRY_TRY(append(op, d, output));
    known = known > kMaxElements / d ? kMaxElements + 1 : known * d;
  }
  const int64_t elements = x.elements();
  if (inferred >= 0 && elements % known == 0) {
    const int64_t d = elements / known;
    if (d <= std::numeric_limits<int32_t>::max()) {
      (*output)[inferred] = static_cast<int32_t>(d);
      known *= d;
    }
  }
  if (known != elements)
    return error(FERRY_SHAPE_MISMATCH, "%s: %s does not hold the %lld elements of %s", op, to_string(*output).c_str(),
                 static_cast<long long>(elements), to_string(x).c_str());
  return {};
}

Status rule(const char* op, const fbs::Transpose& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_length(op, "perm", p.perm(), x));
  std::array<bool, FERRY_MAX_RANK> seen{};
  for (int i = 0; i < x.rank; ++i) {
    const int32_t axis = at(p.perm(), i);
    if (axis < 0 || axis >= x.rank || seen[static_cast<size_t>(axis)])
      return error(FERRY_CORRUPT, "%s: perm has %d at %d, expected each of 0 to %d once", op, axis, i, x.rank - 1);
    seen[static_cast<size_t>(axis)] = true;
    FERRY_TRY(append(op, x[axis], output));
  }
  return {};
}

Status rule(const char* op, const fbs::Slice& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const Shape& x = inputs[0];
  FERRY_TRY(check_length(op, "begin", p.begin(), x));
  FERRY_TRY(check_length(op, "size", p.size(), x));
  for (int i = 0; i < x.rank; ++i) {
    const int64_t begin = at(p.begin(), i);
    int64_t size = at(p.size(), i);
    if (begin < 0 || size < -1 || size == 0)
      return error(FERRY_CORRUPT,
                   "%s: dimension %d begins at %lld with size %lld, expected 0 or more and -1 or above 0", op, i,
                   static_cast<long long>(begin), static_cast<long long>(size));
    if (size == -1) size = x[i] - begin;
    if (size < 1 || begin + size > x[i])
      return error(FERRY_SHAPE_MISMATCH, "%s: elements %lld to %lld of dimension %d are outside input %s", op,
                   static_cast<long long>(begin), static_cast<long long>(begin + size), i, to_string(x).c_str());
    FERRY_TRY(append(op, size, output));
  }
  return {};
}

Status check_size(const char* op, const char* what, const Shape& shape) {
  int64_t elements = 1;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 1)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has a dimension below 1", op, what, to_string(shape).c_str());
    if (elements > kMaxElements / shape[i])
      return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has more than 2^40 elements", op, what, to_string(shape).c_str());
    elements *= shape[i];
  }
  return {};
}

}  // namespace

Status infer_shape(const fbs::Operator& op, std::span<const Shape> inputs, Shape* output) {
  *output = Shape();
  const char* name = op_name(op.params_type());
  if (op.params_type() > fbs::OpParams::MAX)
    return error(FERRY_UNSUPPORTED, "operator type %d is unknown to this version", static_cast<int>(op.params_type()));
  if (op.params_type() == fbs::OpParams::NONE || op.params() == nullptr)
    return error(FERRY_CORRUPT, "%s: the operator has no parameters", name);
  for (const Shape& input : inputs) FERRY_TRY(check_size(name, "input", input));
  Shape shape;
  switch (op.params_type()) {
    case fbs::OpParams::NONE: break;
#define FERRY_RULE(Type) \
  case fbs::OpParams::Type: FERRY_TRY(rule(name, *op.params_as_##Type(), inputs, &shape)); break
      FERRY_RULE(Conv2d);
      FERRY_RULE(Linear);
      FERRY_RULE(Pool2d);
      FERRY_RULE(Unary);
      FERRY_RULE(Binary);
      FERRY_RULE(Reduce);
      FERRY_RULE(Concat);
      FERRY_RULE(PixelShuffle);
      FERRY_RULE(Resize2d);
      FERRY_RULE(Pad);
      FERRY_RULE(Reshape);
      FERRY_RULE(Transpose);
      FERRY_RULE(Slice);
      FERRY_RULE(Softmax);
      FERRY_RULE(ConvTranspose2d);
      FERRY_RULE(LayerNorm);
      FERRY_RULE(GroupNorm);
      FERRY_RULE(Grn);
      FERRY_RULE(Attention);
      FERRY_RULE(RotaryEmbedding);
      FERRY_RULE(WindowPartition);
      FERRY_RULE(WindowReverse);
#undef FERRY_RULE
  }
  FERRY_TRY(check_size(name, "output", shape));
  *output = shape;
  return {};
}

const char* op_name(fbs::OpParams type) {
  switch (type) {
    case fbs::OpParams::NONE: break;
    case fbs::OpParams::Conv2d: return "conv2d";
    case fbs::OpParams::Linear: return "linear";
    case fbs::OpParams::Pool2d: return "pool2d";
    case fbs::OpParams::Unary: return "unary";
    case fbs::OpParams::Binary: return "binary";
    case fbs::OpParams::Reduce: return "reduce";
    case fbs::OpParams::Concat: return "concat";
    case fbs::OpParams::PixelShuffle: return "pixel_shuffle";
    case fbs::OpParams::Resize2d: return "resize2d";
    case fbs::OpParams::Pad: return "pad";
    case fbs::OpParams::Reshape: return "reshape";
    case fbs::OpParams::Transpose: return "transpose";
    case fbs::OpParams::Slice: return "slice";
    case fbs::OpParams::Softmax: return "softmax";
    case fbs::OpParams::ConvTranspose2d: return "conv_transpose2d";
    case fbs::OpParams::LayerNorm: return "layer_norm";
    case fbs::OpParams::GroupNorm: return "group_norm";
    case fbs::OpParams::Grn: return "grn";
    case fbs::OpParams::Attention: return "attention";
    case fbs::OpParams::RotaryEmbedding: return "rotary_embedding";
    case fbs::OpParams::WindowPartition: return "window_partition";
    case fbs::OpParams::WindowReverse: return "window_reverse";
  }
  return "unknown";
}

Status at_operator(const Status& status, const fbs::Operator& op) {
  return error(status.code(), "operator '%s': %s", op.name() != nullptr ? op.name()->c_str() : "",
               status.message().c_str());
}

bool has_weight(fbs::OpParams type) {
  return type == fbs::OpParams::Conv2d || type == fbs::OpParams::ConvTranspose2d || type == fbs::OpParams::Linear;
}

bool takes_constants(fbs::OpParams type) {
  return has_weight(type) || type == fbs::OpParams::LayerNorm || type == fbs::OpParams::GroupNorm ||
         type == fbs::OpParams::Grn || type == fbs::OpParams::RotaryEmbedding;
}

}  // namespace ferry
