// Normalizations.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

// [C] followed by `spatial` dimensions of 1: [C,1,1].
Dims per_channel(int64_t channels, int spatial) {
  Dims dims(static_cast<size_t>(spatial) + 1, 1);
  dims[0] = channels;
  return dims;
}

Tensor add_values(Graph& graph, const std::string& name, const Dims& dims, const std::vector<double>& values) {
  return add_constant(graph, name, make_array(Type::Float64, dims, values));
}

// GroupNorm of `x` with weight and bias per channel.
Tensor group_norm(Op& op, int64_t groups, const std::vector<double>& weight, const std::vector<double>& bias,
                  double epsilon) {
  const Dims dims = op.dims(0);
  if (dims.size() < 3) op.refuse("an input of %zu dimensions, expected 3 or more", dims.size());
  const int64_t channels = dims[1];
  if (groups < 1 || channels % groups != 0 || weight.size() != static_cast<size_t>(channels) ||
      bias.size() != weight.size())
    op.refuse("%zu scales and %zu shifts in %lld groups for %lld channels", weight.size(), bias.size(),
              static_cast<long long>(groups), static_cast<long long>(channels));
  const int64_t positions = count_elements(Dims(dims.begin() + 2, dims.end()));
  // Maps stay maps, so that surrounding transposes cancel; other ranks become maps of one row.
  const Tensor map = dims.size() == 4 ? op.tensor(0) : reshape_to(op.tensor(0), {dims[0], channels, 1, positions});
  fbs::GroupNormT params;
  params.groups = static_cast<int32_t>(groups);
  params.epsilon = static_cast<float>(epsilon);
  const Tensor y =
      op.graph().add_op("", params,
                        {to_channels_last(map), add_values(op.graph(), op.node().name + ".weight", {channels}, weight),
                         add_values(op.graph(), op.node().name + ".bias", {channels}, bias)});
  return reshape_to(to_channels_first(y), dims);
}

// y * scale + shift with vectors of input 1 and, if there is one, input 2, in that shape.
Tensor scaled(Op& op, Tensor y, const Dims& shape) {
  y = y * reshape_to(op.tensor(1), shape);
  return op.has(2) ? y + reshape_to(op.tensor(2), shape) : y;
}

// Whether inputs 1 to `last`, those that the node has, are constants.
bool parameters_known(const Op& op, size_t last) {
  for (size_t i = 1; i <= last; ++i)
    if (op.has(i) && !op.known(i)) return false;
  return true;
}

// GroupNorm whose scales and shifts of each channel are inputs 1 and 2.
Tensor group_norm_by_inputs(Op& op, int64_t groups, double epsilon) {
  const int64_t channels = op.rank(0) > 1 ? op.dims(0)[1] : 0;
  for (const size_t i : {size_t{1}, size_t{2}})
    if (op.dims(i) != Dims{channels})
      op.refuse("scales or shifts %s for %lld channels", to_string(op.dims(i)).c_str(),
                static_cast<long long>(channels));
  const auto all = [&](double value) { return std::vector<double>(static_cast<size_t>(channels), value); };
  return scaled(op, group_norm(op, groups, all(1), all(0), epsilon), per_channel(channels, op.rank(0) - 2));
}

// The constant of an input, or `otherwise` repeated, for the normalized dimensions.
Tensor per_column(Op& op, size_t input, const char* what, const Dims& normalized, double otherwise) {
  const int64_t columns = count_elements(normalized);
  if (op.has(input))
    return add_constant(op.graph(), op.input_name(input),
                        expand(op.array(input, what), normalized).reshaped({columns}));
  return add_values(op.graph(), op.node().name + "." + what, {columns},
                    std::vector<double>(static_cast<size_t>(count_computed({columns})), otherwise));
}

// Inputs x, weight, bias; normalizes the dimensions from `axis` on.
Tensor layer_norm(Op& op, int axis, bool centered) {
  const Dims dims = op.dims(0), normalized(dims.begin() + axis, dims.end());
  fbs::LayerNormT params;
  params.epsilon = static_cast<float>(op.number("epsilon", 1e-5));
  params.centered = centered;
  Dims flat(dims.begin(), dims.begin() + axis);
  flat.push_back(count_elements(normalized));
  const bool known = parameters_known(op, 2);
  const size_t absent = op.input_count();
  const Tensor weight = per_column(op, known ? 1 : absent, "Scale", normalized, 1),
               bias = per_column(op, known ? 2 : absent, "B", normalized, 0);
  const Tensor y = reshape_to(op.graph().add_op("", params, {reshape_to(op.tensor(0), flat), weight, bias}), dims);
  if (known) return y;
  const Tensor product = y * op.tensor(1);
  return op.has(2) ? product + op.tensor(2) : product;
}

Tensor reduced(Tensor x, fbs::ReduceKind kind, const std::vector<int>& axes) { return reduce(x, kind, axes, true); }

// Training mode: uses the batch statistics and updates the running ones.
void normalize_batch(Op& op) {
  const int rank = op.rank(0);
  if (rank < 2) op.refuse("an input of %d dimensions, expected 2 or more", rank);
  std::vector<int> axes(static_cast<size_t>(rank) - 1);
  std::iota(axes.begin() + 1, axes.end(), 2);  // and 0
  const int64_t channels = op.dims(0)[1];
  const Tensor x = op.tensor(0), mean = reduced(x, fbs::ReduceKind::Mean, axes), centred = x - mean;
  const Tensor variance = reduced(unary(centred, fbs::UnaryKind::Square), fbs::ReduceKind::Mean, axes);
  const Tensor normal =
      binary(fbs::BinaryKind::Div, centred, unary(variance + op.number("epsilon", 1e-5), fbs::UnaryKind::Sqrt));
  const Dims shape = per_channel(channels, rank - 2);
  op.set(normal * reshape_to(op.tensor(1), shape) + reshape_to(op.tensor(2), shape));
  const double momentum = op.number("momentum", 0.9);
  const auto run = [&](size_t output, Tensor former, Tensor batch) {
    const Tensor vector = reshape_to(batch, {channels});
    op.set(output, former * scalar(former, momentum) + vector * scalar(vector, 1 - momentum));
  };
  if (op.wants(1)) run(1, op.tensor(3), mean);
  if (op.wants(2)) run(2, op.tensor(4), variance);
}

// Statistics per channel that are computed.
void normalize_by_inputs(Op& op) {
  if (op.rank(0) < 2) op.refuse("an input of %d dimensions, expected 2 or more", op.rank(0));
  const Dims shape = per_channel(op.dims(0)[1], op.rank(0) - 2);
  const auto vector = [&](size_t i) { return reshape_to(op.tensor(i), shape); };
  const Tensor deviation = unary(vector(4) + op.number("epsilon", 1e-5), fbs::UnaryKind::Sqrt);
  op.set(scaled(op, binary(fbs::BinaryKind::Div, op.tensor(0) - vector(3), deviation), shape));
}

}  // namespace

void batch_normalization(Op& op) {
  if (op.integer("training_mode", 0) != 0) return normalize_batch(op);
  if (!parameters_known(op, 4)) return normalize_by_inputs(op);
  const std::vector<double> gamma = op.array(1, "scale").floats(), beta = op.array(2, "B").floats();
  const std::vector<double> mean = op.array(3, "mean").floats(), var = op.array(4, "var").floats();
  const Dims dims = op.dims(0);
  if (dims.size() < 2) op.refuse("an input of %zu dimensions, expected 2 or more", dims.size());
  // Before opset 9, spatial=0 has statistics per element of a sample.
  const bool spatial = op.opset() >= 9 || op.integer("spatial", 1) != 0;
  const Dims shape = spatial ? per_channel(dims[1], op.rank(0) - 2) : Dims(dims.begin() + 1, dims.end());
  const auto count = static_cast<size_t>(count_elements(shape));
  if (gamma.size() != count || beta.size() != count || mean.size() != count || var.size() != count)
    op.refuse("the statistics do not fit %zu %s", count, spatial ? "channels" : "elements");
  const double epsilon = op.number("epsilon", 1e-5);
  std::vector<double> scale(count), shift(count);
  for (size_t c = 0; c < count; ++c) {
    if (!(var[c] + epsilon > 0)) op.refuse("variance %zu is %g, expected a positive one", c, var[c]);
    scale[c] = gamma[c] / std::sqrt(var[c] + epsilon);
    shift[c] = beta[c] - mean[c] * scale[c];
  }
  op.set(op.tensor(0) * add_values(op.graph(), op.node().name + ".scale", shape, scale) +
         add_values(op.graph(), op.node().name + ".shift", shape, shift));
}

void instance_normalization(Op& op) {
  if (!parameters_known(op, 2))
    return op.set(group_norm_by_inputs(op, op.rank(0) > 1 ? op.dims(0)[1] : 0, op.number("epsilon", 1e-5)));
  op.set(group_norm(op, op.dims(0).size() > 1 ? op.dims(0)[1] : 0, op.array(1, "scale").floats(),
                    op.array(2, "B").floats(), op.number("epsilon", 1e-5)));
}

void group_normalization(Op& op) {
  const int64_t groups = op.integer("num_groups", 0);
  const int64_t channels = op.dims(0).size() > 1 ? op.dims(0)[1] : 0;
  // Scales are per group in opset 18, per channel in later ones.
  if (!parameters_known(op, 2)) {
    for (const size_t i : {size_t{1}, size_t{2}}) {
      if (op.opset() >= 21 || groups < 1 || channels % groups != 0 || op.dims(i) != Dims{groups}) continue;
      std::vector<int64_t> places;
      for (int64_t c = 0; c < channels; ++c) places.push_back(c / (channels / groups));
      op.replace_input(i, pick(op, op.tensor(i), 0, places));
    }
    return op.set(group_norm_by_inputs(op, groups, op.number("epsilon", 1e-5)));
  }
  std::vector<double> weight = op.array(1, "scale").floats(), bias = op.array(2, "bias").floats();
  const auto widen = [&](std::vector<double>& list) {
    if (op.opset() >= 21 || groups < 1 || static_cast<int64_t>(list.size()) != groups || channels % groups != 0) return;
    std::vector<double> wide;
    for (const double v : list) wide.insert(wide.end(), static_cast<size_t>(channels / groups), v);
    list = wide;
  };
  widen(weight);
  widen(bias);
  op.set(group_norm(op, groups, weight, bias, op.number("epsilon", 1e-5)));
}

void ferry_group_norm(Op& op) {
  if (op.array(3, "the shape").ints() != op.dims(0))
    op.refuse("the normalized groups get another shape (--no-recognise group_norm disables this pattern)");
  op.set(group_norm(op, to_integer(op.number("groups", 1)), op.array(1, "scale").floats(), op.array(2, "bias").floats(),
                    op.number("epsilon", 1e-5)));
}

void layer_normalization(Op& op) {
  const int axis = op.axis(op.integer("axis", -1), op.rank(0));
  op.set(layer_norm(op, axis, true));
  if (!op.wants(1) && !op.wants(2)) return;
  const Tensor x = op.tensor(0);
  std::vector<int> axes(static_cast<size_t>(op.rank(0) - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const Tensor mean = reduced(x, fbs::ReduceKind::Mean, axes);
  const Tensor variance = reduced(unary(x - mean, fbs::UnaryKind::Square), fbs::ReduceKind::Mean, axes);
  op.set(1, mean);
  op.set(2, binary(fbs::BinaryKind::Div, scalar(x, 1),
                   unary(variance + op.number("epsilon", 1e-5), fbs::UnaryKind::Sqrt)));
}

// x / sqrt(mean(x^2) + epsilon) * scale.
void rms_normalization(Op& op) {
  const int axis = op.axis(op.integer("axis", -1), op.rank(0));
  op.set(layer_norm(op, axis, false));
}

void ferry_layer_norm(Op& op) { op.set(layer_norm(op, op.axis(-1, op.rank(0)), true)); }
void ferry_rms_norm(Op& op) { op.set(layer_norm(op, op.axis(-1, op.rank(0)), false)); }

void mean_variance_normalization(Op& op) {
  const std::vector<int> axes = op.axes(op.integers("axes", {0, 2, 3}), op.rank(0));
  const Tensor x = op.tensor(0), centred = x - reduced(x, fbs::ReduceKind::Mean, axes);
  const Tensor variance = reduced(unary(centred, fbs::UnaryKind::Square), fbs::ReduceKind::Mean, axes);
  op.set(binary(fbs::BinaryKind::Div, centred, unary(variance, fbs::UnaryKind::Sqrt) + 1e-9));
}

void lp_normalization(Op& op) {
  const int axis = op.axis(op.integer("axis", -1), op.rank(0));
  const int64_t p = op.integer("p", 2);
  if (p != 1 && p != 2) op.refuse("attribute 'p' is %lld, expected 1 or 2", static_cast<long long>(p));
  const Tensor x = op.tensor(0);
  const Tensor powers = unary(x, p == 1 ? fbs::UnaryKind::Abs : fbs::UnaryKind::Square);
  const Tensor sum = reduced(powers, fbs::ReduceKind::Sum, {axis});
  // A zero vector normalizes to zero.
  const Tensor norm = p == 1 ? sum : unary(sum, fbs::UnaryKind::Sqrt);
  op.set(binary(fbs::BinaryKind::Div, x, binary(fbs::BinaryKind::Max, norm, scalar(x, 1e-35))));
}

// x / (bias + alpha * mean of the squares of `size` neighbouring channels)^beta; the sum is a linear layer over the
// channels.
void local_response_normalization(Op& op) {
  const int64_t size = op.integer("size", 0);
  if (op.rank(0) != 4) op.refuse("an input of %d dimensions, expected 4", op.rank(0));
  const int64_t channels = op.dims(0)[1];
  if (size < 1) op.refuse("attribute 'size' is %lld, expected 1 or more", static_cast<long long>(size));
  if (channels > 1 << 12) op.refuse("%lld channels, at most 4096", static_cast<long long>(channels));
  std::vector<double> band(static_cast<size_t>(channels * channels), 0.0);
  for (int64_t to = 0; to < channels; ++to)
    for (int64_t from = std::max<int64_t>(to - (size - 1) / 2, 0); from <= std::min(to + size / 2, channels - 1);
         ++from)
      band[static_cast<size_t>(to * channels + from)] = op.number("alpha", 1e-4) / static_cast<double>(size);
  const Tensor weight = add_values(op.graph(), op.node().name + ".band", {channels, channels}, band);
  const Tensor x = to_channels_last(op.tensor(0));
  const Tensor sums = op.graph().add_op("", fbs::LinearT{}, {unary(x, fbs::UnaryKind::Square), weight});
  const Tensor scale = power(op, sums + op.number("bias", 1), op.number("beta", 0.75));
  op.set(to_channels_first(binary(fbs::BinaryKind::Div, x, scale)));
}

}  // namespace ferry::onnx
