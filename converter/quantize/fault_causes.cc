#include "converter/quantize/fault_causes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "converter/quantize/integer_graph.h"
#include "converter/quantize/integer_ops.h"
#include "converter/quantize/network.h"
#include "converter/reference/reference.h"

namespace ferry::int8 {
namespace {

template <typename... Args>
std::string words(const char* pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

double distance(const Weight& a, size_t of_a, const Weight& b, size_t of_b) {
  double sum = 0;
  for (size_t i = 0; i < a.width; ++i) {
    const double d = a.real(of_a, i) - b.real(of_b, i);
    sum += d * d;
  }
  return sum;
}

// Two output channels that have each other's weights.
std::string swapped_channels(const Weight& actual, const Weight& proper) {
  std::vector<size_t> wrong;
  for (size_t c = 0; c < proper.channels; ++c) {
    size_t best = c;
    for (size_t other = 0; other < proper.channels; ++other)
      if (distance(actual, c, proper, other) < distance(actual, c, proper, best)) best = other;
    if (best != c && distance(actual, c, proper, best) < 0.1 * distance(actual, c, proper, c)) wrong.push_back(c);
  }
  if (wrong.size() < 2) return "";
  return words("%zu output channels have weights of others, such as %zu and %zu", wrong.size(), wrong[0], wrong[1]);
}

std::string weight_cause(const Weight& actual, const Weight& proper) {
  const bool equal =
      std::all_of(actual.scales.begin(), actual.scales.end(), [&](float s) { return s == actual.scales.front(); });
  const auto [low, high] = std::minmax_element(proper.scales.begin(), proper.scales.end());
  if (actual.channels > 1 && equal && *high > 1.5f * *low)
    return words("one scale for all output channels, whose weights differ in size by %.1f times",
                 static_cast<double>(*high) / static_cast<double>(*low));
  std::vector<float> own = actual.scales, right = proper.scales;
  size_t moved = 0;
  for (size_t c = 0; c < own.size(); ++c) moved += std::fabs(own[c] - right[c]) > 0.01f * right[c] ? 1 : 0;
  std::sort(own.begin(), own.end());
  std::sort(right.begin(), right.end());
  const bool same =
      std::equal(own.begin(), own.end(), right.begin(), [](float a, float b) { return std::fabs(a - b) <= 0.01f * b; });
  if (moved > 1 && same) return words("%zu output channels have scales of others", moved);
  if (const std::string swapped = swapped_channels(actual, proper); !swapped.empty()) return swapped;
  size_t worst = 0;
  double most = 0;
  for (size_t c = 0; c < actual.channels; ++c) {
    const double ratio = static_cast<double>(actual.scales[c]) / static_cast<double>(proper.scales[c]);
    if (std::fabs(std::log(ratio)) <= most) continue;
    most = std::fabs(std::log(ratio));
    worst = c;
  }
  if (most > 0.05)
    return words("the scale of output channel %zu is %.3g times what its weights need", worst,
                 static_cast<double>(actual.scales[worst]) / static_cast<double>(proper.scales[worst]));
  return "its integers are not the rounded weights";
}

std::string bias_cause(const Weight& actual, const Weight& proper) {
  size_t worst = 0;
  double most = -1;
  std::vector<double> ratios;
  for (size_t c = 0; c < actual.channels; ++c) {
    const double a = actual.bias[c], p = c < proper.bias.size() ? proper.bias[c] : 0;
    if (p != 0) ratios.push_back(a / p);
    if (std::fabs(a - p) <= most) continue;
    most = std::fabs(a - p);
    worst = c;
  }
  const double right = worst < proper.bias.size() ? proper.bias[worst] : 0;
  std::sort(ratios.begin(), ratios.end());
  const bool all = ratios.size() > 1 && ratios.front() > 0 && ratios.back() < 1.05 * ratios.front();
  if (all && std::fabs(ratios.front() - 1) > 0.05)
    return words("its bias is %.3g times that of the float network: a wrong scale of bias or input", ratios.front());
  return words("the bias of output channel %zu is %.4g, in the float network %.4g", worst, actual.bias[worst], right);
}

std::string range_cause(const char* what, const Affine& actual, const Affine& proper) {
  if (actual.real(127) < proper.real(127) - static_cast<double>(proper.scale) ||
      actual.real(-128) > proper.real(-128) + static_cast<double>(proper.scale))
    return words("the range of its %s is clipped: %.4g to %.4g, values need %.4g to %.4g", what, actual.real(-128),
                 actual.real(127), proper.real(-128), proper.real(127));
  return words("the scale of its %s is %.3g, %.3g times what the values need", what, static_cast<double>(actual.scale),
               static_cast<double>(actual.scale) / static_cast<double>(proper.scale));
}

std::string table_cause(const OneOperator& actual) {
  fbs::OperatorT op = *actual.graph.table.operators[actual.index];
  const Affine input = actual.affine[op.inputs.front()], output = actual.affine[op.outputs.front()];
  const auto is_table_of = [&](const Affine& x, const Affine& y) { return table_of(op, x, y) == actual.table; };
  for (const int step : {-1, 1}) {
    if (is_table_of({input.scale, input.zero_point + step}, output))
      return words("its table was made for the zero point %d of its input, which is %d", input.zero_point + step,
                   input.zero_point);
    if (is_table_of(input, {output.scale, output.zero_point + step}))
      return words("its table was made for the zero point %d of its output, which is %d", output.zero_point + step,
                   output.zero_point);
    const float factor = step < 0 ? 0.5f : 2.0f;
    if (is_table_of({input.scale * factor, input.zero_point}, output))
      return words("its table was made for %.1f times the scale of its input", static_cast<double>(factor));
    if (is_table_of(input, {output.scale * factor, output.zero_point}))
      return words("its table was made for %.1f times the scale of its output", static_cast<double>(factor));
  }
  return "its table is not that of the function between these scales";
}

const char* clamp_cause() { return "its activation differs from the float network's"; }

}  // namespace

OneOperator::OneOperator(const Graph& of, size_t at, const PerTensor<std::vector<float>>& on)
    : graph(of), index(at), values(on), affine(of.table.tensors.size()), params(of.table.operators[at]->params) {}

double OneOperator::noise(int threads) const {
  const fbs::OperatorT& op = *graph.table.operators[index];
  const TensorId output = op.outputs.front();
  const std::vector<float>& expected = values[output];
  double sum = 0;
  if (!table.empty()) {
    const std::vector<float>& x = values[op.inputs.front()];
    for (size_t i = 0; i < x.size(); ++i) {
      const int32_t integer = affine[op.inputs.front()].integer(static_cast<double>(x[i]));
      const double y = affine[output].real(table[static_cast<size_t>(integer + 128)]);
      sum += std::pow(y - static_cast<double>(expected[i]), 2);
    }
    return sum;
  }
  // A graph of this operator alone.
  Graph one;
  Plan plan;
  Sample sample{op.name, "", {}};
  auto alone = std::make_unique<fbs::OperatorT>(op);
  alone->params = params;
  std::vector<Affine> affines;
  for (TensorId& t : alone->inputs) {
    const TensorId from = t;
    if (graph.is_constant(from)) {
      t = one.add_constant(graph.at(from).name, graph.at(from).dtype, graph.shape(from), graph.source(from)).id;
    } else {
      Sample::Input& input = sample.inputs.emplace_back();
      input.shape = graph.shape(from);
      input.bytes.resize(values[from].size() * sizeof(float));
      std::memcpy(input.bytes.data(), values[from].data(), input.bytes.size());
      t = one.add_input("x" + std::to_string(sample.inputs.size()), graph.shape(from), fbs::Layout::Same).id;
    }
    affines.resize(index_of(t) + 1);
    affines[index_of(t)] = affine[from];
  }
  auto tensor = std::make_unique<fbs::TensorT>();
  tensor->shape = graph.at(output).shape;
  tensor->dtype = fbs::DType::Float32;
  one.table.tensors.push_back(std::move(tensor));
  const TensorId result = tensor_at(one.table.tensors.size() - 1);
  alone->outputs = {result};
  one.table.operators.push_back(std::move(alone));
  one.add_output("y", {&one, result}, fbs::Layout::Same);
  affines.resize(index_of(result) + 1);
  affines[index_of(result)] = affine[output];
  plan.int8 = {true};
  plan.weights = {weight ? std::make_shared<const Weight>(*weight) : nullptr};
  plan.affine.resize(affines.size());
  for (size_t i = 0; i < affines.size(); ++i) plan.affine[tensor_at(i)] = affines[i];
  const IntegerGraph integer = integer_graph(one, plan);
  Network network(*integer.graph, {}, threads);
  network.run(sample);
  const std::span<const float> y = network.values(integer.floats[result]);
  for (size_t i = 0; i < y.size(); ++i)
    sum += std::pow(static_cast<double>(y[i]) - static_cast<double>(expected[i]), 2);
  return sum;
}

Weight nearest_weight(const Graph& graph, const fbs::OperatorT& op) {
  const auto channels = static_cast<size_t>(graph.shape(op.inputs[1])[0]);
  std::vector<double> bias = op.inputs.size() > 2 ? graph.values(op.inputs[2]) : std::vector<double>();
  return quantise_to_nearest(graph.values(op.inputs[1]), channels, std::move(bias), op.name);
}

std::vector<int8_t> stored_integers(const Graph& graph, TensorId constant) {
  const Constant stored = graph.constant(constant);
  std::vector<int8_t> out(stored.bytes.size());
  std::memcpy(out.data(), stored.bytes.data(), out.size());
  return out;
}

Weight stored_weight(const Graph& graph, const fbs::OperatorT& op, float input) {
  Weight out;
  out.integers = stored_integers(graph, op.inputs[1]);
  out.zero_point = graph.at(op.inputs[1]).quantization->zero_point;
  for (const double s : graph.values(graph.at(op.inputs[1]).quantization->scale))
    out.scales.push_back(static_cast<float>(s));
  out.channels = out.scales.size();
  out.width = out.integers.size() / std::max<size_t>(out.channels, 1);
  const std::vector<double> bias = graph.values(op.inputs[2]);
  for (size_t c = 0; c < out.channels; ++c)
    out.bias.push_back(bias[c] * static_cast<double>(input) * static_cast<double>(out.scales[c]));
  return out;
}

std::string cause_of(const OneOperator& actual, const OneOperator& proper, double noise, int threads) {
  const fbs::OperatorT& op = *actual.graph.table.operators[actual.index];
  if (!actual.table.empty() && actual.affine[op.outputs.front()] == proper.affine[op.outputs.front()])
    return table_cause(actual);
  struct Trial {
    std::function<void(OneOperator*)> change;
    std::function<std::string()> text;
  };
  std::vector<Trial> trials;
  if (actual.weight) {
    trials.push_back({[&](OneOperator* o) { o->params = proper.params; }, clamp_cause});
    trials.push_back({[&](OneOperator* o) { o->weight->bias = proper.weight->bias; },
                      [&] { return bias_cause(*actual.weight, *proper.weight); }});
    const auto weights = [&] { return weight_cause(*actual.weight, *proper.weight); };
    trials.push_back({[&](OneOperator* o) {
                        o->weight = proper.weight;
                        o->weight->bias = actual.weight->bias;
                      },
                      weights});
    // A blob's bias has the scales of its weights.
    trials.push_back({[&](OneOperator* o) {
                        o->weight->scales = proper.weight->scales;
                        for (size_t c = 0; c < o->weight->channels; ++c)
                          o->weight->bias[c] *= static_cast<double>(proper.weight->scales[c]) /
                                                static_cast<double>(actual.weight->scales[c]);
                      },
                      weights});
  }
  const TensorId result = op.outputs.front();
  trials.push_back({[&](OneOperator* o) { o->affine[result] = proper.affine[result]; },
                    [&] { return range_cause("output", actual.affine[result], proper.affine[result]); }});
  for (const TensorId t : op.inputs) {
    if (actual.graph.is_constant(t)) continue;
    trials.push_back({[&, t](OneOperator* o) { o->affine[t] = proper.affine[t]; },
                      [&, t] { return range_cause("input", actual.affine[t], proper.affine[t]); }});
  }
  double least = noise / 2;
  std::string cause;
  for (const Trial& trial : trials) {
    OneOperator changed = actual;
    trial.change(&changed);
    const double left = changed.noise(threads);
    if (left >= least) continue;
    least = left;
    cause = trial.text();
  }
  return cause;
}

}  // namespace ferry::int8
