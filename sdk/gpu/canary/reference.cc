#include "sdk/gpu/canary/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/gpu/lowering/program.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

using Inputs = std::span<const Array* const>;
using Index = std::array<int32_t, FERRY_MAX_RANK>;

// visit(index, place) for every element, in order.
template <typename Visit>
void for_each(const Shape& shape, Visit visit) {
  Index place{};
  for (size_t index = 0, count = static_cast<size_t>(shape.elements()); index < count; ++index) {
    visit(index, place);
    for (int d = shape.rank - 1; d >= 0 && ++place[static_cast<size_t>(d)] == shape[d]; --d)
      place[static_cast<size_t>(d)] = 0;
  }
}

size_t offset_of(const Shape& shape, const Index& place) {
  size_t index = 0;
  for (int d = 0; d < shape.rank; ++d)
    index = index * static_cast<size_t>(shape[d]) + static_cast<size_t>(place[static_cast<size_t>(d)]);
  return index;
}

double dot(const float* a, const float* b, int count) {
  double sums[4] = {};
  int i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane)
      sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  for (; i < count; ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

float clamped(double value, float min, float max) { return std::clamp(static_cast<float>(value), min, max); }

// Adds the bias, where there is one, and clamps.
template <typename Params>
void finish(const Params& p, Inputs inputs, const std::vector<double>& sums, Array* out) {
  const size_t channels = static_cast<size_t>(out->shape[out->shape.rank - 1]);
  for (size_t i = 0; i < sums.size(); ++i) {
    const double bias = inputs.size() > 2 ? static_cast<double>(inputs[2]->values[i % channels]) : 0;
    out->values[i] = clamped(sums[i] + bias, p.output_min(), p.output_max());
  }
}

// visit(large pixel, small pixel, kernel cell) for every pair of pixels that a kernel cell joins: the large side is a
// convolution's input or a transposed one's output.
template <typename Params, typename Visit>
void for_each_tap(const Params& p, const Shape& large, const Shape& small, const Shape& kernel, Visit visit) {
  for (int32_t n = 0; n < small[0]; ++n)
    for (int32_t y = 0; y < small[1]; ++y)
      for (int32_t x = 0; x < small[2]; ++x)
        for (int32_t ky = 0; ky < kernel[1]; ++ky)
          for (int32_t kx = 0; kx < kernel[2]; ++kx) {
            const int32_t ly = y * p.stride_h() + ky * p.dilation_h() - p.pad_top();
            const int32_t lx = x * p.stride_w() + kx * p.dilation_w() - p.pad_left();
            if (ly < 0 || ly >= large[1] || lx < 0 || lx >= large[2]) continue;
            visit(static_cast<size_t>((n * large[1] + ly) * large[2] + lx),
                  static_cast<size_t>((n * small[1] + y) * small[2] + x), static_cast<size_t>(ky * kernel[2] + kx));
          }
}

template <typename Params>
void convolve(const Params& p, bool transposed, Inputs inputs, Array* out) {
  const Array &x = *inputs[0], &weight = *inputs[1];
  const size_t in = static_cast<size_t>(x.shape[3]), outputs = static_cast<size_t>(out->shape[3]);
  const size_t group_in = static_cast<size_t>(weight.shape[3]),
               taps = static_cast<size_t>(weight.shape[1] * weight.shape[2]);
  const size_t group_out = outputs / static_cast<size_t>(p.groups());
  std::vector<double> sums(out->values.size(), 0);
  const auto visit = [&](size_t large, size_t small, size_t tap) {
    const float* pixel = x.values.data() + (transposed ? small : large) * in;
    double* sum = sums.data() + (transposed ? large : small) * outputs;
    for (size_t o = 0; o < outputs; ++o)
      sum[o] += dot(pixel + o / group_out * group_in, weight.values.data() + (o * taps + tap) * group_in,
                    static_cast<int>(group_in));
  };
  for_each_tap(p, transposed ? out->shape : x.shape, transposed ? x.shape : out->shape, weight.shape, visit);
  finish(p, inputs, sums, out);
}

void linear(const fbs::Linear& p, Inputs inputs, Array* out) {
  const int count = inputs[1]->shape[1];
  const size_t outputs = static_cast<size_t>(inputs[1]->shape[0]), length = static_cast<size_t>(count);
  std::vector<double> sums(out->values.size());
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] =
        dot(inputs[0]->values.data() + i / outputs * length, inputs[1]->values.data() + i % outputs * length, count);
  finish(p, inputs, sums, out);
}

void matmul(const fbs::MatMul& p, Inputs inputs, Array* out) {
  const Shape &a = inputs[0]->shape, &y = out->shape;
  const int32_t depth = a[a.rank - (p.transpose_a() ? 2 : 1)];
  for_each(y, [&](size_t index, const Index& at) {
    // The place in an input of a number of its matrix.
    const auto element = [&](const Array& x, bool transposed, int32_t row, int32_t column) {
      Index place{};
      const int rank = x.shape.rank;
      for (int d = 0; d < rank - 2; ++d)
        if (x.shape[d] > 1) place[static_cast<size_t>(d)] = at[static_cast<size_t>(d + y.rank - rank)];
      place[static_cast<size_t>(rank - 2)] = transposed ? column : row;
      place[static_cast<size_t>(rank - 1)] = transposed ? row : column;
      return static_cast<double>(x.values[offset_of(x.shape, place)]);
    };
    const int32_t row = at[static_cast<size_t>(y.rank - 2)], column = at[static_cast<size_t>(y.rank - 1)];
    double sum = 0;
    for (int32_t k = 0; k < depth; ++k)
      sum += element(*inputs[0], p.transpose_a(), row, k) * element(*inputs[1], p.transpose_b(), k, column);
    out->values[index] = static_cast<float>(sum);
  });
}

// What stands at (y, x) of a sample's channel, bilinearly.
double between(const Array& map, int32_t n, double y, double x, int32_t channel) {
  double sum = 0;
  for (int32_t corner = 0; corner < 4; ++corner) {
    const double row = std::floor(y) + corner / 2, column = std::floor(x) + corner % 2;
    if (row < 0 || row >= map.shape[1] || column < 0 || column >= map.shape[2]) continue;
    const float value =
        map.values[offset_of(map.shape, {n, static_cast<int32_t>(row), static_cast<int32_t>(column), channel})];
    sum += (1 - std::abs(y - row)) * (1 - std::abs(x - column)) * static_cast<double>(value);
  }
  return sum;
}

void deform_conv2d(const fbs::DeformConv2d& p, Inputs inputs, Array* out) {
  const Array &x = *inputs[0], &weight = *inputs[1], &offsets = *inputs[3];
  const int32_t group_in = weight.shape[3], group_out = weight.shape[0] / p.groups();
  const int32_t cells = weight.shape[1] * weight.shape[2], block = x.shape[3] / p.offset_groups();
  for_each(out->shape, [&](size_t index, const Index& at) {
    const int32_t first = at[3] / group_out * group_in;
    double sum = static_cast<double>(inputs[2]->values[static_cast<size_t>(at[3])]);
    for (int32_t k = 0; k < cells; ++k)
      for (int32_t i = 0; i < group_in; ++i) {
        const int32_t cell = (first + i) / block * cells + k;
        const auto offset = [&](int32_t side) {
          return static_cast<double>(offsets.values[offset_of(offsets.shape, {at[0], at[1], at[2], 2 * cell + side})]);
        };
        const int32_t ky = k / weight.shape[2], kx = k % weight.shape[2];
        const double value =
            between(x, at[0], at[1] * p.stride_h() - p.pad_top() + ky * p.dilation_h() + offset(0),
                    at[2] * p.stride_w() - p.pad_left() + kx * p.dilation_w() + offset(1), first + i) *
            static_cast<double>(weight.values[static_cast<size_t>((at[3] * cells + k) * group_in + i)]);
        sum += inputs.size() == 4
                   ? value
                   : value * static_cast<double>(
                                 inputs[4]->values[offset_of(inputs[4]->shape, {at[0], at[1], at[2], cell})]);
      }
    out->values[index] = static_cast<float>(sum);
  });
}

double join(const fbs::Experts& p, double gate, double up) {
  const double limit = static_cast<double>(p.limit());
  switch (p.activation()) {
    case fbs::ExpertsActivation::Silu: return gate / (1 + std::exp(-gate)) * up;
    case fbs::ExpertsActivation::GeluTanh:
      return gate / (1 + std::exp(-1.5957691216057308 * (gate + 0.044715 * gate * gate * gate))) * up;
    case fbs::ExpertsActivation::ClampedSwish: break;
  }
  gate = std::min(gate, limit);
  return gate / (1 + std::exp(-static_cast<double>(p.alpha()) * gate)) * (std::clamp(up, -limit, limit) + 1);
}

void experts(const fbs::Experts& p, Inputs inputs, Array* out) {
  const int32_t hidden = inputs[4]->shape[2], channels = inputs[4]->shape[1];
  const size_t tokens = out->values.size() / static_cast<size_t>(channels);
  const size_t chosen = inputs[1]->values.size() / tokens;
  // Number `row` of matrix `expert` of a stack by x.
  const auto product = [&](size_t stack, float expert, int32_t row, const float* x) {
    const Shape& shape = inputs[stack]->shape;
    const size_t at = static_cast<size_t>(static_cast<int32_t>(expert) * shape[1] + row);
    const double bias = inputs.size() > 5 ? static_cast<double>(inputs[stack + 2]->values[at]) : 0;
    return bias + dot(x, inputs[stack]->values.data() + at * static_cast<size_t>(shape[2]), shape[2]);
  };
  std::vector<float> joined(static_cast<size_t>(hidden));
  for (size_t i = 0; i < tokens * chosen; ++i) {
    const float expert = inputs[1]->values[i], share = inputs[2]->values[i];
    const float* x = inputs[0]->values.data() + i / chosen * static_cast<size_t>(channels);
    for (int32_t h = 0; h < hidden; ++h)
      joined[static_cast<size_t>(h)] =
          static_cast<float>(join(p, product(3, expert, h, x), product(3, expert, hidden + h, x)));
    float* y = out->values.data() + i / chosen * static_cast<size_t>(channels);
    for (int32_t c = 0; c < channels; ++c) y[c] += share * static_cast<float>(product(4, expert, c, joined.data()));
  }
}

void pool2d(const fbs::Pool2d& p, const Array& x, Array* out) {
  const bool max = p.kind() == fbs::PoolKind::Max;
  for_each(out->shape, [&](size_t index, const Index& at) {
    const int32_t top = at[1] * p.stride_h() - p.pad_top(), left = at[2] * p.stride_w() - p.pad_left();
    const int32_t bottom = std::min(top + p.kernel_h(), x.shape[1] + p.pad_bottom());
    const int32_t right = std::min(left + p.kernel_w(), x.shape[2] + p.pad_right());
    double result = max ? -std::numeric_limits<double>::infinity() : 0;
    int32_t cells = 0;
    for (int32_t y = std::max(top, 0); y < std::min(bottom, x.shape[1]); ++y)
      for (int32_t c = std::max(left, 0); c < std::min(right, x.shape[2]); ++c, ++cells) {
        const double cell = static_cast<double>(x.values[offset_of(x.shape, {at[0], y, c, at[3]})]);
        result = max ? std::max(result, cell) : result + cell;
      }
    if (p.count_include_pad()) cells = (bottom - top) * (right - left);
    out->values[index] = static_cast<float>(max ? result : result / cells);
  });
}

void reduce(const fbs::Reduce& p, const Array& x, Array* out) {
  std::vector<double> sums(out->values.size(), 0);
  std::array<bool, FERRY_MAX_RANK> reduced{};
  for (int axis : *p.axes()) reduced[static_cast<size_t>(axis)] = true;
  for_each(x.shape, [&](size_t index, const Index& at) {
    size_t to = 0;
    for (int d = 0; d < x.shape.rank; ++d)
      if (!reduced[static_cast<size_t>(d)])
        to = to * static_cast<size_t>(x.shape[d]) + static_cast<size_t>(at[static_cast<size_t>(d)]);
    sums[to] += static_cast<double>(x.values[index]);
  });
  const double count = static_cast<double>(x.values.size()) / static_cast<double>(sums.size());
  for (size_t i = 0; i < sums.size(); ++i)
    out->values[i] = static_cast<float>(p.kind() == fbs::ReduceKind::Mean ? sums[i] / count : sums[i]);
}

// The weights of cells around a place `t` beyond one of them: from one before it (bicubic), or from itself.
std::vector<double> cell_weights(fbs::ResizeKind kind, double t) {
  if (kind == fbs::ResizeKind::Nearest) return {1};
  if (kind == fbs::ResizeKind::Bilinear) return {1 - t, t};
  const auto near = [](double d) { return (1.25 * d - 2.25) * d * d + 1; };
  const auto far = [](double d) { return ((-0.75 * d + 3.75) * d - 6) * d + 3; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

void resize2d(const fbs::Resize2d& p, const Array& x, Array* out) {
  const bool cubic = p.kind() == fbs::ResizeKind::Bicubic;
  const auto cells = [&](int d, int32_t at, int32_t* first) {
    const double from = x.shape[d], to = out->shape[d];
    double place = p.align_corners() ? (to > 1 ? at * (from - 1) / (to - 1) : 0) : (at + 0.5) * from / to - 0.5;
    if (p.kind() == fbs::ResizeKind::Nearest) place = static_cast<double>(int64_t{at} * x.shape[d] / out->shape[d]);
    *first = static_cast<int32_t>(std::floor(place)) - (cubic ? 1 : 0);
    return cell_weights(p.kind(), place - std::floor(place));
  };
  for_each(out->shape, [&](size_t index, const Index& at) {
    int32_t top = 0, left = 0;
    const std::vector<double> rows = cells(1, at[1], &top), columns = cells(2, at[2], &left);
    double value = 0;
    for (size_t v = 0; v < rows.size(); ++v)
      for (size_t u = 0; u < columns.size(); ++u) {
        const int32_t row = std::clamp(top + static_cast<int32_t>(v), 0, x.shape[1] - 1);
        const int32_t column = std::clamp(left + static_cast<int32_t>(u), 0, x.shape[2] - 1);
        value += rows[v] * columns[u] * static_cast<double>(x.values[offset_of(x.shape, {at[0], row, column, at[3]})]);
      }
    out->values[index] = static_cast<float>(value);
  });
}

// Groups of channels over `rows` rows each.
void normalize(float epsilon, bool centered, size_t groups, size_t rows, Inputs inputs, Array* out) {
  const std::vector<float>& x = inputs[0]->values;
  const size_t channels = inputs[1]->values.size(), size = channels / groups;
  for (size_t sample = 0; sample < x.size(); sample += rows * channels)
    for (size_t group = 0; group < groups; ++group) {
      const auto sum = [&](auto term) {
        double total = 0;
        for (size_t i = 0; i < rows * size; ++i) {
          const size_t channel = group * size + i % size;
          term(sample + i / size * channels + channel, channel, &total);
        }
        return total;
      };
      const double count = static_cast<double>(rows * size);
      const double mean =
          centered ? sum([&](size_t at, size_t, double* total) { *total += static_cast<double>(x[at]); }) / count : 0;
      const double squares = sum([&](size_t at, size_t, double* total) {
        *total += (static_cast<double>(x[at]) - mean) * (static_cast<double>(x[at]) - mean);
      });
      const double factor = 1 / std::sqrt(squares / count + static_cast<double>(epsilon));
      sum([&](size_t at, size_t channel, double*) {
        out->values[at] = static_cast<float>((static_cast<double>(x[at]) - mean) * factor *
                                                 static_cast<double>(inputs[1]->values[channel]) +
                                             static_cast<double>(inputs[2]->values[channel]));
      });
    }
}

void grn(const fbs::Grn& p, Inputs inputs, Array* out) {
  const Array &x = *inputs[0], &weight = *inputs[1], &bias = *inputs[2];
  const size_t channels = weight.values.size(), samples = static_cast<size_t>(x.shape[0]);
  std::vector<double> lengths(samples * channels, 0), means(samples, 0);
  const auto length_of = [&](size_t i) { return i / (x.values.size() / samples) * channels + i % channels; };
  for (size_t i = 0; i < x.values.size(); ++i)
    lengths[length_of(i)] += static_cast<double>(x.values[i]) * static_cast<double>(x.values[i]);
  for (size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = std::sqrt(lengths[i]);
    means[i / channels] += lengths[i] / static_cast<double>(channels);
  }
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double share = lengths[length_of(i)] / (means[length_of(i) / channels] + static_cast<double>(p.epsilon()));
    out->values[i] = static_cast<float>(static_cast<double>(x.values[i]) *
                                            (1 + static_cast<double>(weight.values[i % channels]) * share) +
                                        static_cast<double>(bias.values[i % channels]));
  }
}

void attention(const fbs::Attention& p, Inputs inputs, Array* out) {
  const Array &q = *inputs[0], &k = *inputs[1], &v = *inputs[2];
  const int32_t keys = k.shape[1], depth = q.shape[2] / p.heads(), width = v.shape[2] / p.kv_heads();
  for (int32_t n = 0; n < q.shape[0]; ++n)
    for (int32_t head = 0; head < p.heads(); ++head)
      for (int32_t query = 0; query < q.shape[1]; ++query) {
        const int32_t kv_head = head / (p.heads() / p.kv_heads());
        std::vector<double> scores, sums(static_cast<size_t>(width), 0);
        for (int32_t key = 0; key < keys; ++key) {
          double score =
              static_cast<double>(p.scale()) * dot(&q.values[offset_of(q.shape, {n, query, head * depth})],
                                                   &k.values[offset_of(k.shape, {n, key, kv_head * depth})], depth);
          for (const Array* bias : inputs.subspan(3, inputs.size() - (p.sinks() ? 4 : 3))) {
            const Shape& b = bias->shape;
            score += static_cast<double>(bias->values[offset_of(b, {n % b[0], head % b[1], query % b[2], key})]);
          }
          const int32_t last = keys - q.shape[1] + query;  // that the query sees
          const bool hidden = p.causal() && (key > last || (p.window() > 0 && key <= last - p.window()));
          scores.push_back(hidden ? -std::numeric_limits<double>::infinity() : score);
        }
        if (p.sinks()) scores.push_back(static_cast<double>(inputs.back()->values[static_cast<size_t>(head)]));
        const double largest = *std::max_element(scores.begin(), scores.end());
        double total = p.sinks() ? std::exp(scores.back() - largest) : 0;
        for (int32_t key = 0; key < keys; ++key) {
          const double e = std::exp(scores[static_cast<size_t>(key)] - largest);
          const float* value = &v.values[offset_of(v.shape, {n, key, kv_head * width})];
          for (size_t i = 0; i < sums.size(); ++i) sums[i] += e * static_cast<double>(value[i]);
          total += e;
        }
        float* result = &out->values[offset_of(out->shape, {n, query, head * width})];
        for (size_t i = 0; i < sums.size(); ++i) result[i] = static_cast<float>(sums[i] / total);
      }
}

void rotary_embedding(const fbs::RotaryEmbedding& p, Inputs inputs, Array* out) {
  const Array &x = *inputs[0], &cosines = *inputs[1], &sines = *inputs[2];
  const size_t length = static_cast<size_t>(cosines.shape[1]), angles = cosines.values.size();
  const size_t channels = static_cast<size_t>(x.shape[2]), distance = p.interleaved() ? 1 : length / 2;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const bool first = i % channels % length / distance % 2 == 0;
    const double turned =
        first ? -static_cast<double>(x.values[i + distance]) : static_cast<double>(x.values[i - distance]);
    const size_t angle = i / channels * length % angles + i % channels % length;
    out->values[i] = static_cast<float>(static_cast<double>(x.values[i]) * static_cast<double>(cosines.values[angle]) +
                                        turned * static_cast<double>(sines.values[angle]));
  }
}

// visit(index in the image's, index in the windows' values)
template <typename Params, typename Visit>
void for_each_in_windows(const Params& p, const Shape& image, const Shape& windows, Visit visit) {
  for_each(image, [&](size_t index, const Index& at) {
    const int32_t y = (at[1] + image[1] - p.shift_h()) % image[1];
    const int32_t x = (at[2] + image[2] - p.shift_w()) % image[2];
    const int32_t window =
        (at[0] * (image[1] / p.window_h()) + y / p.window_h()) * (image[2] / p.window_w()) + x / p.window_w();
    const int32_t cell = y % p.window_h() * p.window_w() + x % p.window_w();
    visit(index, offset_of(windows, {window, cell, at[3]}));
  });
}

void softmax(const Array& x, Array* out) {
  const size_t length = static_cast<size_t>(x.shape[x.shape.rank - 1]);
  for (size_t row = 0; row < x.values.size(); row += length) {
    const float* values = x.values.data() + row;
    const float maximum = *std::max_element(values, values + length);
    double sum = 0;
    for (size_t i = 0; i < length; ++i) sum += std::exp(static_cast<double>(values[i] - maximum));
    for (size_t i = 0; i < length; ++i)
      out->values[row + i] = static_cast<float>(std::exp(static_cast<double>(values[i] - maximum)) / sum);
  }
}

double unary(const fbs::Unary& p, double x) {
  const double alpha = static_cast<double>(p.alpha()), beta = static_cast<double>(p.beta());
  switch (p.kind()) {
    case fbs::UnaryKind::Clamp: return std::clamp(x, alpha, beta);
    case fbs::UnaryKind::LeakyRelu: return x < 0 ? alpha * x : x;
    case fbs::UnaryKind::Sigmoid: return 1 / (1 + std::exp(-x));
    case fbs::UnaryKind::Tanh: return std::tanh(x);
    case fbs::UnaryKind::HardSwish: return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case fbs::UnaryKind::Silu: return x / (1 + std::exp(-x));
    case fbs::UnaryKind::Gelu: return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case fbs::UnaryKind::Abs: return std::abs(x);
    case fbs::UnaryKind::Neg: return -x;
    case fbs::UnaryKind::Exp: return std::exp(x);
    case fbs::UnaryKind::Sqrt: return std::sqrt(x);
    case fbs::UnaryKind::Square: return x * x;
    case fbs::UnaryKind::HardSigmoid: return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case fbs::UnaryKind::GeluTanh: return x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    case fbs::UnaryKind::Log: return std::log(x);
    case fbs::UnaryKind::Erf: return std::erf(x);
    case fbs::UnaryKind::Sin: return std::sin(x);
    case fbs::UnaryKind::Cos: return std::cos(x);
    default: return x;  // the others run on the CPU
  }
}

double binary(fbs::BinaryKind kind, double a, double b) {
  switch (kind) {
    case fbs::BinaryKind::Add: return a + b;
    case fbs::BinaryKind::Sub: return a - b;
    case fbs::BinaryKind::Mul: return a * b;
    case fbs::BinaryKind::Div: return a / b;
    case fbs::BinaryKind::Max: return std::max(a, b);
    case fbs::BinaryKind::Min: return std::min(a, b);
    case fbs::BinaryKind::PRelu: return a > 0 ? a : a * b;
    default: return a;  // the others run on the CPU
  }
}

void binary(const fbs::Binary& p, Inputs inputs, Array* out) {
  for_each(out->shape, [&](size_t index, const Index& at) {
    const auto side = [&](const Array& x) {
      Index place{};
      const int missing = out->shape.rank - x.shape.rank;
      for (int d = 0; d < x.shape.rank; ++d)
        if (x.shape[d] > 1) place[static_cast<size_t>(d)] = at[static_cast<size_t>(d + missing)];
      return static_cast<double>(x.values[offset_of(x.shape, place)]);
    };
    out->values[index] = clamped(binary(p.kind(), side(*inputs[0]), side(*inputs[1])), p.output_min(), p.output_max());
  });
}

void concat(const fbs::Concat& p, Inputs inputs, Array* out) {
  const size_t axis = static_cast<size_t>(p.axis());
  int32_t begin = 0;
  for (const Array* x : inputs) {
    for_each(x->shape, [&](size_t index, Index at) {
      at[axis] += begin;
      out->values[offset_of(out->shape, at)] = x->values[index];
    });
    begin += x->shape[p.axis()];
  }
}

void pixel_shuffle(const fbs::PixelShuffle& p, const Array& x, Array* out) {
  const int32_t r = p.factor();
  for_each(out->shape, [&](size_t index, const Index& at) {
    const int32_t channel = (at[1] % r * r + at[2] % r) * out->shape[3] + at[3];
    out->values[index] = x.values[offset_of(x.shape, {at[0], at[1] / r, at[2] / r, channel})];
  });
}

void pad(const fbs::Pad& p, const Array& x, Array* out) {
  std::fill(out->values.begin(), out->values.end(), p.value());
  for_each(x.shape, [&](size_t index, Index at) {
    for (unsigned d = 0; d < p.before()->size(); ++d) at[d] += p.before()->Get(d);
    out->values[offset_of(out->shape, at)] = x.values[index];
  });
}

void transpose(const fbs::Transpose& p, const Array& x, Array* out) {
  for_each(out->shape, [&](size_t index, const Index& at) {
    Index from{};
    for (unsigned d = 0; d < p.perm()->size(); ++d) from[static_cast<size_t>(p.perm()->Get(d))] = at[d];
    out->values[index] = x.values[offset_of(x.shape, from)];
  });
}

void slice(const fbs::Slice& p, const Array& x, Array* out) {
  for_each(out->shape, [&](size_t index, Index at) {
    for (unsigned d = 0; d < p.begin()->size(); ++d) at[d] += p.begin()->Get(d);
    out->values[index] = x.values[offset_of(x.shape, at)];
  });
}

// The places of the best, or their values.
void top_k(const fbs::TopK& p, const Array& x, bool values, Array* out) {
  const size_t length = static_cast<size_t>(x.shape[x.shape.rank - 1]), k = static_cast<size_t>(p.k());
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t row = i / length, place = i % length;
    size_t better = 0;
    for (size_t other = 0; other < length; ++other) {
      const float a = x.values[i], b = x.values[row * length + other];
      better += a == b ? (other < place) != p.later() && other != place : (b > a) != p.smallest();
    }
    if (better < k) out->values[row * k + better] = values ? x.values[i] : static_cast<float>(place);
  }
}

// Where in a row of `length` place `i` is.
size_t place_at(const Array& places, size_t i, size_t length) {
  const auto place = static_cast<int64_t>(places.values[i]);
  return place < 0 ? length - static_cast<size_t>(-place) : static_cast<size_t>(place);
}

// Along the last dimension.
void gather(const Array& x, const Array& places, Array* out) {
  const size_t length = rows_of(x.shape).channels, count = rows_of(places.shape).channels;
  for (size_t i = 0; i < out->values.size(); ++i)
    out->values[i] = x.values[i / count * length + place_at(places, i, length)];
}

void scatter(const fbs::Scatter& p, Inputs inputs, Array* out) {
  const Array &x = *inputs[0], &places = *inputs[1], &updates = *inputs[2];
  const size_t length = rows_of(x.shape).channels, count = rows_of(places.shape).channels;
  out->values = x.values;
  for (size_t i = 0; i < places.values.size(); ++i) {
    float& to = out->values[i / count * length + place_at(places, i, length)];
    const float update = updates.values[i];
    switch (p.kind()) {
      case fbs::ScatterKind::Set: to = update; break;
      case fbs::ScatterKind::Add: to += update; break;
      case fbs::ScatterKind::Mul: to *= update; break;
      case fbs::ScatterKind::Max: to = std::max(to, update); break;
      case fbs::ScatterKind::Min: to = std::min(to, update); break;
    }
  }
}

// x behind what the state holds: the tokens that each sees, or those that the state holds then.
void causal_conv1d(Inputs inputs, bool after, Array* out) {
  const Array &x = *inputs[0], &weight = *inputs[1], &held = *inputs.back();
  const size_t channels = static_cast<size_t>(x.shape[2]);
  for_each(out->shape, [&](size_t index, const Index& at) {
    const auto token = [&](int32_t t) {
      const Array& from = t < held.shape[1] ? held : x;
      const int32_t row = at[0] * from.shape[1] + (t < held.shape[1] ? t : t - held.shape[1]);
      return static_cast<double>(from.values[static_cast<size_t>(row) * channels + static_cast<size_t>(at[2])]);
    };
    double sum = after ? token(at[1] + x.shape[1]) : 0;
    if (!after && inputs.size() > 3) sum = static_cast<double>(inputs[2]->values[static_cast<size_t>(at[2])]);
    for (int32_t k = 0; k < weight.shape[0] && !after; ++k)
      sum += token(at[1] + k) * static_cast<double>(weight.values[offset_of(weight.shape, {k, at[2]})]);
    out->values[index] = static_cast<float>(sum);
  });
}

void gated_delta_rule(Inputs inputs, bool after, Array* out) {
  const auto value = [&](size_t i, int32_t n, int32_t t, int32_t channel) {
    return static_cast<double>(inputs[i]->values[offset_of(inputs[i]->shape, {n, t, channel})]);
  };
  const Array& held = *inputs[5];
  const int32_t samples = held.shape[1], heads = held.shape[2], keys = held.shape[3], width = held.shape[4];
  const int32_t sharing = heads / (inputs[0]->shape[2] / keys), tokens = inputs[0]->shape[1];
  const size_t half = held.values.size() / 2;  // then what rounding left
  std::vector<double> column(static_cast<size_t>(keys));
  for (int32_t i = 0; i < samples * heads * width; ++i) {  // columns of S
    const int32_t n = i / (heads * width), channel = i % (heads * width), head = channel / width;
    const auto cell = [&](int32_t d) { return offset_of(held.shape, {0, n, head, d, channel % width}); };
    for (int32_t d = 0; d < keys; ++d)
      column[static_cast<size_t>(d)] =
          static_cast<double>(held.values[cell(d)]) + static_cast<double>(held.values[half + cell(d)]);
    for (int32_t t = 0; t < tokens; ++t) {
      const double decay = std::exp(value(3, n, t, head));
      double known = 0, found = 0;
      for (int32_t d = 0; d < keys; ++d) {
        column[static_cast<size_t>(d)] *= decay;
        known += value(1, n, t, head / sharing * keys + d) * column[static_cast<size_t>(d)];
      }
      for (int32_t d = 0; d < keys; ++d) {
        column[static_cast<size_t>(d)] +=
            value(1, n, t, head / sharing * keys + d) * value(4, n, t, head) * (value(2, n, t, channel) - known);
        found += value(0, n, t, head / sharing * keys + d) * column[static_cast<size_t>(d)];
      }
      if (!after) out->values[offset_of(out->shape, {n, t, channel})] = static_cast<float>(found);
    }
    for (int32_t d = 0; d < keys && after; ++d)
      out->values[cell(d)] = static_cast<float>(column[static_cast<size_t>(d)]);
  }
}

}  // namespace

Array compute_plainly(const fbs::Operator& op, std::span<const Array* const> inputs, const Shape& output,
                      unsigned number) {
  Array out{output, std::vector<float>(static_cast<size_t>(output.elements()))};
  const Array& x = *inputs[0];
  switch (op.params_type()) {
    case fbs::OpParams::Conv2d: convolve(*op.params_as_Conv2d(), false, inputs, &out); break;
    case fbs::OpParams::Linear: linear(*op.params_as_Linear(), inputs, &out); break;
    case fbs::OpParams::Pool2d: pool2d(*op.params_as_Pool2d(), x, &out); break;
    case fbs::OpParams::Unary:
      for (size_t i = 0; i < out.values.size(); ++i)
        out.values[i] = static_cast<float>(unary(*op.params_as_Unary(), static_cast<double>(x.values[i])));
      break;
    case fbs::OpParams::Binary: binary(*op.params_as_Binary(), inputs, &out); break;
    case fbs::OpParams::Reduce: reduce(*op.params_as_Reduce(), x, &out); break;
    case fbs::OpParams::Concat: concat(*op.params_as_Concat(), inputs, &out); break;
    case fbs::OpParams::PixelShuffle: pixel_shuffle(*op.params_as_PixelShuffle(), x, &out); break;
    case fbs::OpParams::Resize2d: resize2d(*op.params_as_Resize2d(), x, &out); break;
    case fbs::OpParams::Pad: pad(*op.params_as_Pad(), x, &out); break;
    case fbs::OpParams::Append:  // to an empty state
    case fbs::OpParams::Reshape: out.values = x.values; break;
    case fbs::OpParams::Transpose: transpose(*op.params_as_Transpose(), x, &out); break;
    case fbs::OpParams::Slice: slice(*op.params_as_Slice(), x, &out); break;
    case fbs::OpParams::Softmax: softmax(x, &out); break;
    case fbs::OpParams::ConvTranspose2d: convolve(*op.params_as_ConvTranspose2d(), true, inputs, &out); break;
    case fbs::OpParams::LayerNorm: {
      const fbs::LayerNorm& p = *op.params_as_LayerNorm();
      normalize(p.epsilon(), p.centered(), 1, 1, inputs, &out);
      break;
    }
    case fbs::OpParams::GroupNorm: {
      const fbs::GroupNorm& p = *op.params_as_GroupNorm();
      const int64_t rows = x.shape.elements() / x.shape[0] / x.shape[x.shape.rank - 1];
      normalize(p.epsilon(), true, static_cast<size_t>(p.groups()), static_cast<size_t>(rows), inputs, &out);
      break;
    }
    case fbs::OpParams::Grn: grn(*op.params_as_Grn(), inputs, &out); break;
    case fbs::OpParams::Attention: attention(*op.params_as_Attention(), inputs, &out); break;
    case fbs::OpParams::RotaryEmbedding: rotary_embedding(*op.params_as_RotaryEmbedding(), inputs, &out); break;
    case fbs::OpParams::WindowPartition:
      for_each_in_windows(*op.params_as_WindowPartition(), x.shape, output,
                          [&](size_t place, size_t cell) { out.values[cell] = x.values[place]; });
      break;
    case fbs::OpParams::WindowReverse:
      for_each_in_windows(*op.params_as_WindowReverse(), output, x.shape,
                          [&](size_t place, size_t cell) { out.values[place] = x.values[cell]; });
      break;
    case fbs::OpParams::MatMul: matmul(*op.params_as_MatMul(), inputs, &out); break;
    case fbs::OpParams::Experts: experts(*op.params_as_Experts(), inputs, &out); break;
    case fbs::OpParams::CausalConv1d: causal_conv1d(inputs, number == kStateAfter, &out); break;
    case fbs::OpParams::GatedDeltaRule: gated_delta_rule(inputs, number == kStateAfter, &out); break;
    case fbs::OpParams::TopK: top_k(*op.params_as_TopK(), x, number == 1, &out); break;
    case fbs::OpParams::Gather: gather(x, *inputs[1], &out); break;
    case fbs::OpParams::Scatter: scatter(*op.params_as_Scatter(), inputs, &out); break;
    case fbs::OpParams::DeformConv2d: deform_conv2d(*op.params_as_DeformConv2d(), inputs, &out); break;
#define FERRY_ON_CPU(Type, ...) case fbs::OpParams::Type:
      FERRY_OPERATORS_ON_CPU(FERRY_ON_CPU)
      FERRY_OPERATORS_WITH_STATE_ON_CPU(FERRY_ON_CPU)
#undef FERRY_ON_CPU
    case fbs::OpParams::NONE: break;
  }
  return out;
}

}  // namespace ferry::gpu
