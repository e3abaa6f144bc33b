#include "sdk/reference/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// Integers without their zero point, so that padding is 0.
Array centred(const Array& x) {
  Array out = x;
  for (double& value : out.values) value -= x.zero_point;
  return out;
}

// Converts float32 numbers in units of the output's scale.
class Rounding {
 public:
  explicit Rounding(const Array& output, float min = -std::numeric_limits<float>::infinity(),
                    float max = std::numeric_limits<float>::infinity())
      : zero_point_(output.zero_point) {
    low_ = rounded(min / output.scales[0]);
    high_ = rounded(max / output.scales[0]);
  }

  double operator()(float value) const { return std::clamp(rounded(value), low_, high_); }

 private:
  double rounded(float value) const {
    if (std::isnan(value)) return zero_point_;
    return std::clamp(std::nearbyint(static_cast<double>(value)) + zero_point_, -128.0, 127.0);
  }

  double zero_point_, low_ = -128, high_ = 127;
};

// A sum in 32 bits, to float32 and times the multiplier.
float scaled(double sum, float multiplier) {
  const auto integer = static_cast<float>(wrapped(static_cast<int64_t>(sum)));
  return integer * multiplier;
}

// conv2d and linear: `sums` is the operator's function for floats, which adds whole numbers exactly and clamps no Int8.
void product(Function sums, float min, float max, const fbs::Operator& op, Inputs inputs, Array& output) {
  const Array x = centred(*inputs[0]), weight = centred(*inputs[1]);
  std::vector<const Array*> operands(inputs.begin(), inputs.end());
  operands[0] = &x;
  operands[1] = &weight;
  sums(op, operands, output);
  const std::vector<float>& scales = inputs[1]->scales;
  const auto channels = static_cast<size_t>(inputs[1]->shape[0]);
  const Rounding rounding(output, min, max);
  for (size_t i = 0; i < output.values.size(); ++i) {
    const float both = x.scales[0] * scales[scales.size() == 1 ? 0 : i % channels];
    output.values[i] = rounding(scaled(output.values[i], both / output.scales[0]));
  }
}

void conv2d_int8(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Conv2d& p = *op.params_as_Conv2d();
  product(conv2d, p.output_min(), p.output_max(), op, inputs, output);
}

void linear_int8(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Linear& p = *op.params_as_Linear();
  product(linear, p.output_min(), p.output_max(), op, inputs, output);
}

// A number as the sum of two products, or as one product; each step is rounded to float32.
void binary_int8(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Binary& p = *op.params_as_Binary();
  const fbs::BinaryKind kind = p.kind();
  const Array a = centred(*inputs[0]), b = centred(*inputs[1]);
  const float from_a = a.scales[0] / output.scales[0], from_b = b.scales[0] / output.scales[0];
  const float both = a.scales[0] * b.scales[0], from_both = both / output.scales[0];
  const Rounding rounding(output, p.output_min(), p.output_max());
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const auto x = static_cast<float>(broadcast(a, output.shape, at));
    const auto y = static_cast<float>(broadcast(b, output.shape, at));
    const float left = x * from_a, right = y * from_b;
    const float sum = kind == fbs::BinaryKind::Sub ? left - right : left + right;
    output.values[index] = rounding(kind == fbs::BinaryKind::Mul ? x * y * from_both : sum);
  });
}

// The mean of `count` elements of sum `sum`.
float mean_of(double sum, float multiplier, int64_t count) {
  const float share = multiplier / static_cast<float>(count);
  return scaled(sum, share);
}

void pool2d_int8(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Pool2d& p = *op.params_as_Pool2d();
  if (p.kind() == fbs::PoolKind::Max) return pool2d(op, inputs, output);
  const Array x = centred(*inputs[0]);
  const float multiplier = x.scales[0] / output.scales[0];
  const Rounding rounding(output);
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const int64_t top = at[1] * p.stride_h() - p.pad_top(), left = at[2] * p.stride_w() - p.pad_left();
    const int64_t bottom = std::min<int64_t>(top + p.kernel_h(), x.shape[1] + p.pad_bottom());
    const int64_t right = std::min<int64_t>(left + p.kernel_w(), x.shape[2] + p.pad_right());
    double sum = 0;
    int64_t count = 0;
    for (int64_t row = std::max<int64_t>(top, 0); row < std::min<int64_t>(bottom, x.shape[1]); ++row)
      for (int64_t column = std::max<int64_t>(left, 0); column < std::min<int64_t>(right, x.shape[2]); ++column) {
        sum += x.values[index_of(x.shape, {at[0], row, column, at[3]})];
        ++count;
      }
    if (p.count_include_pad()) count = (bottom - top) * (right - left);
    output.values[index] = rounding(mean_of(sum, multiplier, count));
  });
}

void reduce_int8(const fbs::Operator& op, Inputs inputs, Array& output) {
  const Array x = centred(*inputs[0]);
  const std::vector<int32_t> axes(op.params_as_Reduce()->axes()->begin(), op.params_as_Reduce()->axes()->end());
  Shape kept = x.shape;
  for (const int32_t axis : axes) kept[axis] = 1;
  for_each_element(x.shape, [&](size_t index, Coordinates at) {
    for (const int32_t axis : axes) at[static_cast<size_t>(axis)] = 0;
    output.values[index_of(kept, at)] += x.values[index];
  });
  const float multiplier = x.scales[0] / output.scales[0];
  const auto count = static_cast<int64_t>(x.values.size() / output.values.size());
  const Rounding rounding(output);
  for (double& value : output.values) value = rounding(mean_of(value, multiplier, count));
}

void pad_int8(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Pad& p = *op.params_as_Pad();
  const double value = Rounding(output)(p.value() / output.scales[0]);
  std::fill(output.values.begin(), output.values.end(), value);
  for_each_element(inputs[0]->shape, [&](size_t index, Coordinates at) {
    for (int i = 0; i < output.shape.rank; ++i) at[static_cast<size_t>(i)] += p.before()->Get(static_cast<unsigned>(i));
    output.values[index_of(output.shape, at)] = inputs[0]->values[index];
  });
}

}  // namespace

void requantize(const fbs::Operator& op, Inputs inputs, Array& output) {
  const Array& x = *inputs[0];
  if (op.params_as_Requantize()->to() == fbs::DType::Float32) {
    for (size_t i = 0; i < x.values.size(); ++i) {
      const float value = static_cast<float>(x.values[i] - x.zero_point) * x.scales[0];
      output.values[i] = static_cast<double>(value);
    }
    return;
  }
  const Rounding rounding(output);
  const bool integers = x.dtype == fbs::DType::Int8;
  const float multiplier = (integers ? x.scales[0] : 1.0f) / output.scales[0];
  for (size_t i = 0; i < x.values.size(); ++i) {
    const auto value = static_cast<float>(x.values[i] - (integers ? x.zero_point : 0));
    output.values[i] = rounding(value * multiplier);
  }
}

void lookup(const fbs::Operator&, Inputs inputs, Array& output) {
  for (size_t i = 0; i < output.values.size(); ++i)
    output.values[i] = inputs[1]->values[static_cast<size_t>(inputs[0]->values[i] + 128)];
}

Function int8_function_of(fbs::OpParams type) {
  switch (type) {
    case fbs::OpParams::Conv2d: return conv2d_int8;
    case fbs::OpParams::Linear: return linear_int8;
    case fbs::OpParams::Binary: return binary_int8;
    case fbs::OpParams::Pool2d: return pool2d_int8;
    case fbs::OpParams::Reduce: return reduce_int8;
    case fbs::OpParams::Pad: return pad_int8;
    default: return function_of(type);  // they move elements, or know types themselves
  }
}

}  // namespace ferry::reference
