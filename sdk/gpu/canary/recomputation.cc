#include "sdk/gpu/canary/recomputation.h"

#include <algorithm>
#include <cmath>

#include "sdk/gpu/canary/answers.h"
#include "sdk/gpu/canary/canary.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/model/elements.h"
#include "sdk/operators/operators.h"
#include "sdk/reference/reference.h"

namespace ferry::gpu {
namespace {

using reference::Array;

bool is_elementwise(fbs::OpParams type) { return type == fbs::OpParams::Unary || type == fbs::OpParams::Binary; }
bool is_product(fbs::OpParams type) { return type == fbs::OpParams::Linear || type == fbs::OpParams::Conv2d; }

// Computes `op` on rows that are arrays of one row.
std::vector<double> run_reference(const fbs::Operator& op, const std::vector<std::vector<double>>& inputs,
                                  size_t count) {
  std::vector<Array> arrays;
  for (const std::vector<double>& values : inputs)
    arrays.push_back({Shape{1, static_cast<int32_t>(values.size())}, values});
  std::vector<const Array*> operands;
  for (const Array& array : arrays) operands.push_back(&array);
  std::vector<Array> outputs(1);
  outputs[0].shape = {1, static_cast<int32_t>(count)};
  reference::fill_outputs(answers_of(op.params_type()), op, operands, outputs);
  return std::move(outputs[0].values);
}

double largest(const std::vector<double>& values) {
  double out = 0;
  for (const double value : values) out = std::max(out, std::abs(value));
  return out;
}

}  // namespace

Recomputation::Recomputation(const Model& model, const Program& program, const Step& step, double bound)
    : model_(model),
      shapes_(program.shapes),
      operators_(step.operators),
      tensor_(step.output),
      storage_(program.storage),
      bound_(bound),
      output_(rows_of(program.shapes[step.output])) {
  possible_ = !step.view && program.shapes[step.output].elements() > 0;
  for (size_t i = 0; i < operators_.size(); ++i)
    possible_ = possible_ && !names_state(op(i).params_type()) && answers_of(op(i).params_type()) != nullptr;
  for (const TensorId tensor : outputs_of(step)) possible_ = possible_ && program.state_of[tensor] < 0;
  if (!possible_) return;
  by_rows_ = step.further_outputs.empty();
  for (size_t i = 0; i < operators_.size(); ++i) by_rows_ = by_rows_ && runs_by_rows(op(i), i == 0);
  const fbs::Operator& root = op(0);
  if (is_product(root.params_type())) {
    const Shape& weight = shapes_[root.inputs()->Get(1)];
    work_ = static_cast<uint64_t>(weight.elements() / std::max(weight[0], 1));
  } else if (by_rows_ && !is_elementwise(root.params_type())) {
    per_row_ = true;
    work_ = 4 * uint64_t{output_.channels};
  } else if (!by_rows_) {
    work_ = 1;
    for (const Dispatch& dispatch : step.dispatches) work_ += dispatch.work.flops / 2 + dispatch.work.written / 4;
    for (size_t i = 0; i < operators_.size(); ++i)
      for (const TensorId tensor : *op(i).inputs()) work_ += static_cast<uint64_t>(shapes_[tensor].elements());
  }
}

const fbs::Operator& Recomputation::op(size_t i) const { return operator_at(model_, operators_[i]); }

bool Recomputation::runs_by_rows(const fbs::Operator& op, bool first) const {
  const fbs::OpParams type = op.params_type();
  for (const TensorId tensor : *op.inputs())
    if (model_.tensor(tensor).dtype() == fbs::DType::Int32) return false;
  if (is_elementwise(type)) return true;
  if (!first) return false;
  if (is_product(type)) {
    for (unsigned i = 1; i < op.inputs()->size(); ++i)
      if (!model_.is_constant(op.inputs()->Get(i))) return false;
    return !model_.is_constant(op.inputs()->Get(0));
  }
  return type == fbs::OpParams::LayerNorm || type == fbs::OpParams::Softmax;
}

uint32_t Recomputation::row_of(TensorId tensor, uint32_t row) const {
  const Shape &from = shapes_[tensor], &to = shapes_[tensor_];
  uint32_t at = 0, stride = 1;
  for (int i = to.rank - 2; i >= 0; --i) {
    const auto extent = static_cast<uint32_t>(to[i]);
    const int j = i - (to.rank - from.rank);
    if (j >= 0) {
      if (from[j] != 1) at += row % extent * stride;
      stride *= static_cast<uint32_t>(from[j]);
    }
    row /= extent;
  }
  return at;
}

std::vector<RowId> Recomputation::reads(uint32_t row) const {
  std::vector<RowId> out;
  std::vector<TensorId> inside;
  for (size_t i = 0; i < operators_.size(); ++i) {
    const fbs::Conv2d* conv = op(i).params_as_Conv2d();
    if (conv == nullptr) {
      for (const TensorId tensor : *op(i).inputs())
        if (!model_.is_constant(tensor) && std::find(inside.begin(), inside.end(), tensor) == inside.end())
          out.push_back({tensor, row_of(tensor, row)});
    } else {
      const TensorId tensor = op(i).inputs()->Get(0);
      const Shape &x = shapes_[tensor], &weight = shapes_[op(i).inputs()->Get(1)], &y = shapes_[tensor_];
      const auto width = static_cast<uint32_t>(y[2]), height = static_cast<uint32_t>(y[1]);
      const int64_t left = int64_t{row % width} * conv->stride_w() - conv->pad_left();
      const int64_t top = int64_t{row / width % height} * conv->stride_h() - conv->pad_top();
      const int64_t image = row / width / height;
      for (int64_t ky = 0; ky < weight[1]; ++ky)
        for (int64_t kx = 0; kx < weight[2]; ++kx) {
          const int64_t at_y = top + ky * conv->dilation_h(), at_x = left + kx * conv->dilation_w();
          if (at_y < 0 || at_y >= x[1] || at_x < 0 || at_x >= x[2]) continue;
          out.push_back({tensor, static_cast<uint32_t>((image * x[1] + at_y) * x[2] + at_x)});
        }
    }
    inside.push_back(output_of(op(i)));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<double> Recomputation::constant(TensorId tensor, uint64_t begin, uint64_t count) const {
  std::vector<float> values(count);
  StoredConstant stored{type_of(model_.tensor(tensor)), shapes_[tensor], model_.constant(tensor)};
  if (stored.type.quantized) {
    stored.scales = model_.constant(stored.type.scale);
    stored.scale_dtype = model_.tensor(stored.type.scale).dtype();
  }
  read_elements(stored, begin, values);
  return {values.begin(), values.end()};
}

std::vector<double> Recomputation::operand(TensorId tensor, uint32_t row, std::span<const uint32_t> channels,
                                           const RowValues& inputs) const {
  const Rows rows = rows_of(shapes_[tensor]);
  const uint32_t at = row_of(tensor, row);
  std::vector<double> all;
  if (model_.is_constant(tensor)) all = constant(tensor, uint64_t{at} * rows.channels, rows.channels);
  const std::vector<double>& values = model_.is_constant(tensor) ? all : inputs.at({tensor, at});
  std::vector<double> out;
  for (const uint32_t channel : channels) out.push_back(values[rows.channels == 1 ? 0 : channel]);
  return out;
}

std::vector<Expected> Recomputation::product(uint32_t row, std::span<const uint32_t> channels,
                                             const RowValues& inputs) const {
  const fbs::Operator& root = op(0);
  const TensorId x = root.inputs()->Get(0), weight = root.inputs()->Get(1);
  const fbs::Conv2d* conv = root.params_as_Conv2d();
  const Shape &xs = shapes_[x], &ws = shapes_[weight];
  const auto taps = static_cast<uint64_t>(ws.elements() / ws[0]);  // of an output
  const auto depth = static_cast<size_t>(ws[ws.rank - 1]);
  struct Tap {
    const double* values;
    size_t weight;
  };
  std::vector<Tap> cells;
  uint32_t group_outputs = static_cast<uint32_t>(ws[0]);
  float low, high;
  if (conv == nullptr) {
    low = root.params_as_Linear()->output_min();
    high = root.params_as_Linear()->output_max();
    cells.push_back({inputs.at({x, row}).data(), 0});
  } else {
    low = conv->output_min();
    high = conv->output_max();
    group_outputs /= static_cast<uint32_t>(conv->groups());
    const auto width = static_cast<uint32_t>(shapes_[tensor_][2]), height = static_cast<uint32_t>(shapes_[tensor_][1]);
    for (int64_t ky = 0; ky < ws[1]; ++ky)
      for (int64_t kx = 0; kx < ws[2]; ++kx) {
        const int64_t at_y =
            int64_t{row / width % height} * conv->stride_h() - conv->pad_top() + ky * conv->dilation_h();
        const int64_t at_x = int64_t{row % width} * conv->stride_w() - conv->pad_left() + kx * conv->dilation_w();
        if (at_y < 0 || at_y >= xs[1] || at_x < 0 || at_x >= xs[2]) continue;
        const RowId id{x, static_cast<uint32_t>((row / width / height * xs[1] + at_y) * xs[2] + at_x)};
        cells.push_back({inputs.at(id).data(), static_cast<size_t>(ky * ws[2] + kx) * depth});
      }
  }
  std::vector<Expected> out;
  for (const uint32_t channel : channels) {
    const std::vector<double> weights = constant(weight, channel * taps, taps);
    const size_t first = channel / group_outputs * depth;
    Expected sum;
    if (root.inputs()->size() > 2) sum.value = constant(root.inputs()->Get(2), channel, 1)[0];
    double magnitude = std::abs(sum.value);
    for (const Tap& cell : cells)
      for (size_t i = 0; i < depth; ++i) {
        const double term = cell.values[first + i] * weights[cell.weight + i];
        sum.value += term;
        // What float16 stores below 2^-14 has fewer digits, and drivers may take it for zero.
        const bool tiny = storage_ == Storage::Float16 &&
                          (std::abs(weights[cell.weight + i]) < 0x1p-14 || std::abs(cell.values[first + i]) < 0x1p-14);
        magnitude += tiny ? std::abs(term) / bound_ : std::abs(term);
      }
    sum.value = std::clamp(sum.value, static_cast<double>(low), static_cast<double>(high));
    sum.tolerance = bound_ * magnitude;
    out.push_back(sum);
  }
  return out;
}

// Of norms and softmax.
std::vector<Expected> Recomputation::whole_row(uint32_t row, std::span<const uint32_t> channels,
                                               const RowValues& inputs) const {
  const fbs::Operator& root = op(0);
  std::vector<std::vector<double>> operands;
  for (unsigned i = 0; i < root.inputs()->size(); ++i) {
    const TensorId tensor = root.inputs()->Get(i);
    operands.push_back(model_.is_constant(tensor) ? constant(tensor, 0, output_.channels)
                                                  : inputs.at({tensor, row_of(tensor, row)}));
  }
  const std::vector<double> values = run_reference(root, operands, output_.channels);
  double tolerance = bound_ * largest(values);
  if (const fbs::LayerNorm* norm = root.params_as_LayerNorm()) {
    // A mean far above the deviation costs digits.
    double mean = 0, variance = 0;
    for (const double x : operands[0]) mean += x / output_.channels;
    if (!norm->centered()) mean = 0;
    for (const double x : operands[0]) variance += (x - mean) * (x - mean) / output_.channels;
    tolerance += bound_ * largest(operands[0]) / std::sqrt(variance + static_cast<double>(norm->epsilon())) *
                 largest(operands[1]);
  } else {
    tolerance *= std::max(1.0, largest(operands[0]) / 16);  // differences of large exponents
  }
  std::vector<Expected> out;
  for (const uint32_t channel : channels) out.push_back({values[channel], tolerance});
  return out;
}

std::vector<Expected> Recomputation::elementwise(const fbs::Operator& op, const std::vector<Expected>* given,
                                                 uint32_t row, std::span<const uint32_t> channels,
                                                 const RowValues& inputs) const {
  const size_t count = channels.size();
  std::vector<std::vector<double>> operands;
  std::vector<double> magnitude(count, 0);
  size_t side = SIZE_MAX;
  for (unsigned i = 0; i < op.inputs()->size(); ++i) {
    const TensorId tensor = op.inputs()->Get(i);
    const bool chained = given != nullptr && side == SIZE_MAX && !model_.is_constant(tensor) &&
                         inputs.find({tensor, row_of(tensor, row)}) == inputs.end();
    if (chained) {
      side = i;
      operands.emplace_back();
      for (const Expected& expected : *given) operands.back().push_back(expected.value);
    } else {
      operands.push_back(operand(tensor, row, channels, inputs));
    }
    for (size_t k = 0; k < count; ++k) magnitude[k] = std::max(magnitude[k], std::abs(operands[i][k]));
  }
  const std::vector<double> values = run_reference(op, operands, count);
  std::vector<Expected> out(count);
  for (size_t k = 0; k < count; ++k) out[k] = {values[k], bound_ * std::max(magnitude[k], std::abs(values[k]))};
  if (side == SIZE_MAX) return out;
  // What the tolerance so far becomes.
  for (const double sign : {-1.0, 1.0}) {
    for (size_t k = 0; k < count; ++k) operands[side][k] = (*given)[k].value + sign * (*given)[k].tolerance;
    const std::vector<double> moved = run_reference(op, operands, count);
    for (size_t k = 0; k < count; ++k)
      out[k].tolerance = std::max(
          out[k].tolerance, std::abs(moved[k] - values[k]) + bound_ * std::max(magnitude[k], std::abs(values[k])));
  }
  return out;
}

std::vector<Expected> Recomputation::row(uint32_t row, std::span<const uint32_t> channels,
                                         const RowValues& inputs) const {
  const fbs::OpParams type = op(0).params_type();
  std::vector<Expected> out = is_product(type)       ? product(row, channels, inputs)
                              : is_elementwise(type) ? elementwise(op(0), nullptr, row, channels, inputs)
                                                     : whole_row(row, channels, inputs);
  for (size_t i = 1; i < operators_.size(); ++i) out = elementwise(op(i), &out, row, channels, inputs);
  return out;
}

std::map<TensorId, std::vector<Expected>> Recomputation::whole(
    const std::map<TensorId, std::vector<double>>& inputs) const {
  std::map<TensorId, Array> values;
  for (const auto& [tensor, given] : inputs) values[tensor] = {shapes_[tensor], given};
  std::map<TensorId, std::vector<Expected>> out;
  for (size_t i = 0; i < operators_.size(); ++i) {
    const fbs::Operator& each = op(i);
    std::vector<const Array*> operands;
    for (const TensorId tensor : *each.inputs()) {
      if (model_.is_constant(tensor) && !values.contains(tensor))
        values[tensor] = {shapes_[tensor], constant(tensor, 0, static_cast<uint64_t>(shapes_[tensor].elements()))};
      operands.push_back(&values[tensor]);
    }
    std::vector<Array> outputs;
    for (const TensorId tensor : *each.outputs()) outputs.push_back({shapes_[tensor], {}});
    reference::fill_outputs(answers_of(each.params_type()), each, operands, outputs);
    for (unsigned k = 0; k < outputs.size(); ++k) {
      const TensorId tensor = each.outputs()->Get(k);
      if (i + 1 == operators_.size()) {
        double scale = 0;
        for (const double value : outputs[k].values)
          if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
        for (const double value : outputs[k].values) out[tensor].push_back({value, bound_ * scale});
      }
      values[tensor] = std::move(outputs[k]);
    }
  }
  return out;
}

double excess(const Expected& expected, float got, Storage storage) {
  constexpr double kMaxFloat16 = 6e4;  // near its end, sums may overflow
  if (!std::isfinite(expected.value) || !std::isfinite(expected.tolerance)) return 0;
  const double bound = storage == Storage::Float16 ? static_cast<double>(kCanaryFloat16Bound) : 0;
  if (bound > 0 && std::max(std::abs(expected.value), expected.tolerance / bound) > kMaxFloat16) return 0;
  const double difference = std::abs(static_cast<double>(got) - expected.value);
  if (std::isnan(difference)) return INFINITY;
  // Values of float16 have a least step.
  const double least = storage == Storage::Float16 ? 0x1p-14 : 1e-30;
  return difference / std::max(expected.tolerance, least);
}

}  // namespace ferry::gpu
