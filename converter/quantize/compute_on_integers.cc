#include "converter/quantize/compute_on_integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "converter/graph/elementary.h"
#include "converter/quantize/integer_ops.h"
#include "converter/quantize/plan.h"
#include "converter/quantize/transposed_convolutions.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

using fbs::OpParams;
using Op = std::unique_ptr<fbs::OperatorT>;

bool quantizes(const fbs::OperatorT& op) {
  const auto* requantize = op.params.AsRequantize();
  return requantize != nullptr && requantize->to == fbs::DType::Int8;
}

bool dequantizes(const fbs::OperatorT& op) { return op.params.AsRequantize() != nullptr && !quantizes(op); }

class Lowering {
 public:
  Lowering(Graph& graph, const PassOptions& options)
      : graph_(graph),
        integers_(graph.table.tensors.size(), TensorId::None),
        sources_(graph.table.tensors.size(), TensorId::None),
        rounded_by_(graph.table.tensors.size(), nullptr),
        uses_(graph.table.tensors.size()),
        needed_(graph.table.tensors.size()),
        seen_(graph.table.tensors.size()) {
    for (const Op& op : graph.table.operators)
      for (const TensorId t : op->inputs) {
        ++uses_[t];
        if (quantizes(*op)) rounded_by_[t] = op.get();
      }
    for (const auto& port : graph.table.outputs) needed_[port->tensor] = true;
    for (const auto& port : graph.table.taps) needed_[port->tensor] = needed_[port->tensor] || port->block;
    seen_ = needed_;
    if (!options.keep_taps) return;
    for (const auto& port : graph.table.taps) seen_[port->tensor] = true;
  }

  Lowered run() {
    std::vector<Op> operators = std::move(graph_.table.operators);
    graph_.table.operators.clear();
    for (Op& op : operators) add(std::move(op));
    return lowered_;
  }

 private:
  Affine affine(TensorId t) const {
    const Type type = type_of(graph_.at(t));
    return {type.float_scale, type.zero_point};
  }
  bool same_affine(TensorId a, TensorId b) const { return affine(a) == affine(b); }

  void add(Op op) {
    if (quantizes(*op)) return add_quantization(std::move(op));
    if (dequantizes(*op)) return add_dequantization(std::move(op));
    const Role role = role_of(*op);
    if (role == Role::Mover && move(op)) return;
    if (rectify(*op)) return;
    if (role != Role::Float && role != Role::Mover && compute(op, role)) return;
    for (TensorId& input : op->inputs) input = as_float(input);
    push(std::move(op));
  }

  // Its output has integers already if the operator before it computes them.
  void add_quantization(Op op) {
    const TensorId from = op->inputs.front(), to = op->outputs.front();
    if (sources_[to] != TensorId::None) return;
    const TensorId form = integers_[from];
    sources_[to] = form != TensorId::None && same_affine(form, to) ? form : to;
    if (sources_[to] != to) return;
    op->inputs.front() = form != TensorId::None ? form : as_float(from);
    push(std::move(op));
  }

  void add_dequantization(Op op) {
    const TensorId value = op->outputs.front();
    integers_[value] = sources_[op->inputs.front()];
    if (seen_[value]) as_float(value);
  }

  // A value that only integers have is dequantized when its first reader comes.
  TensorId as_float(TensorId t) {
    const bool is_integer = index_of(t) < integers_.size() && integers_[t] != TensorId::None;
    return is_integer && dequantized_.insert(t).second ? convert(integers_[t], t, fbs::DType::Float32) : t;
  }

  TensorId requantized(TensorId integers, const Affine& to) {
    if (affine(integers) == to) return integers;
    const TensorId out = add_activation(graph_, graph_.at(integers).name, graph_.shape(integers), to);
    return convert(integers, out, fbs::DType::Int8);
  }

  TensorId convert(TensorId from, TensorId to, fbs::DType type) {
    fbs::RequantizeT requantize;
    requantize.to = type;
    return emit(graph_.at(to).name, requantize, {from}, to);
  }

  bool has_integers(TensorId t) const { return integers_[t] != TensorId::None; }

  // The Requantize that is the only one to read the operator's output; null if a float reader needs the value.
  const fbs::OperatorT* rounding_of(const fbs::OperatorT& op) const {
    const TensorId y = op.outputs.front();
    return op.outputs.size() == 1 && uses_[y] == 1 && !needed_[y] ? rounded_by_[y] : nullptr;
  }

  // Moving integers is moving the values that they stand for, with or without a rounding behind it. Inputs of several
  // scales get that of the rounding.
  bool move(Op& op) {
    const size_t count = value_inputs(*op);
    const auto begin = op->inputs.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
    if (op->outputs.size() != 1 || !std::all_of(begin, end, [&](TensorId t) { return has_integers(t); })) return false;
    const bool alike =
        std::all_of(begin, end, [&](TensorId t) { return same_affine(integers_[t], integers_[op->inputs.front()]); });
    const fbs::OperatorT* rounding = rounding_of(*op);
    if (!alike && rounding == nullptr) return false;
    const Affine to = affine(alike ? integers_[op->inputs.front()] : rounding->outputs.front());
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      TensorId& input = op->inputs[i];
      if (i < count)
        input = requantized(integers_[input], to);
      else if (has_integers(input))
        input = integers_[input];
    }
    const TensorId y = op->outputs.front();
    integers_[y] = add_activation(graph_, graph_.at(y).name, graph_.shape(y), to);
    op->outputs = {integers_[y]};
    push(std::move(op));
    if (seen_[y]) as_float(y);
    return true;
  }

  // An operator whose result is rounded to integers.
  bool compute(Op& op, Role role) {
    const fbs::OperatorT* rounding = rounding_of(*op);
    if (rounding == nullptr) return false;
    const TensorId to = rounding->outputs.front();
    if (role == Role::Weighted ? !weigh(*op, to) : role == Role::Table ? !tabulate(*op, to) : !calculate(*op))
      return false;
    op->outputs = {to};
    sources_[to] = to;
    push(std::move(op));
    return true;
  }

  bool weigh(fbs::OperatorT& op, TensorId to) {
    const TensorId x = op.inputs[0], w = op.inputs[1];
    if (!has_integers(x) ||
        !std::all_of(op.inputs.begin() + 1, op.inputs.end(), [&](TensorId t) { return graph_.is_constant(t); }))
      return false;
    const Shape shape = graph_.shape(w);
    std::vector<double> bias;
    if (op.inputs.size() > 2) bias = graph_.values(op.inputs[2]);
    const auto weight = recover_integers(graph_.values(w), static_cast<size_t>(shape[0]), std::move(bias));
    const float input = affine(integers_[x]).scale, output = affine(to).scale;
    if (!weight || !representable(*weight, input, output)) return false;
    lowered_.channels += weight->channels;
    lowered_.rounded += weight->rounded;
    const std::vector<Tensor> constants = add_weight(graph_, graph_.at(w).name, shape, *weight, input, output);
    op.inputs = {integers_[x], constants[0].id, constants[1].id};
    return true;
  }

  bool tabulate(fbs::OperatorT& op, TensorId to) {
    const TensorId x = op.inputs.front();
    if (!has_integers(x)) return false;
    const Tensor table = add_table(graph_, op, affine(integers_[x]), affine(to));
    op.params.Set(fbs::LookupT());
    op.inputs = {integers_[x], table.id};
    return true;
  }

  // PRelu with constant slopes: the sum of what is above zero, and of what is below times the slopes. One of them is 0,
  // so that each element is rounded once.
  bool rectify(const fbs::OperatorT& op) {
    const auto* binary = op.params.AsBinary();
    const fbs::OperatorT* rounding = rounding_of(op);
    if (binary == nullptr || binary->kind != fbs::BinaryKind::PRelu || rounding == nullptr) return false;
    const TensorId x = op.inputs[0], to = rounding->outputs.front();
    const Shape shape = graph_.shape(x);
    if (!has_integers(x) || !graph_.is_constant(op.inputs[1]) || graph_.shape(to) != shape) return false;
    const TensorId slopes = operand(op.inputs[1]);
    if (slopes == TensorId::None) return false;
    const auto part = [&](float low, float high, const Affine& affine) {
      fbs::OperatorT clamp;
      clamp.name = op.name;
      fbs::UnaryT unary;
      unary.kind = fbs::UnaryKind::Clamp;
      unary.alpha = low, unary.beta = high;
      clamp.params.Set(unary);
      const Tensor table = add_table(graph_, clamp, this->affine(integers_[x]), affine);
      return emit(op.name, fbs::LookupT(), {integers_[x], table.id}, add_activation(graph_, op.name, shape, affine));
    };
    constexpr float kMost = std::numeric_limits<float>::max();
    const TensorId above = part(0, kMost, affine(to)), below = part(-kMost, 0, affine(integers_[x]));
    fbs::BinaryT product;
    product.kind = fbs::BinaryKind::Mul;
    const TensorId scaled = emit(op.name, product, {below, slopes}, add_activation(graph_, op.name, shape, affine(to)));
    emit(op.name, fbs::BinaryT(), {above, scaled}, to);
    sources_[to] = to;
    return true;
  }

  template <typename Params>
  TensorId emit(const std::string& name, Params params, std::vector<TensorId> inputs, TensorId output) {
    auto op = std::make_unique<fbs::OperatorT>();
    op->name = name;
    op->params.Set(std::move(params));
    op->inputs = std::move(inputs);
    op->outputs = {output};
    push(std::move(op));
    return output;
  }

  bool calculate(fbs::OperatorT& op) {
    std::vector<TensorId> inputs;
    for (const TensorId input : op.inputs) {
      const TensorId form = graph_.is_constant(input) ? operand(input) : integers_[input];
      if (form == TensorId::None) return false;
      inputs.push_back(form);
    }
    op.inputs = std::move(inputs);
    return true;
  }

  // A constant of at most 256 different multiples of one step, 0 among them; None for others.
  TensorId operand(TensorId t) {
    const std::vector<double> values = graph_.values(t);
    const double step = step_of(values);
    if (step == 0) return TensorId::None;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double least = std::nearbyint(std::min(*low, 0.0) / step), most = std::nearbyint(std::max(*high, 0.0) / step);
    if (most - least > 255) return TensorId::None;
    const Affine affine{static_cast<float>(step), static_cast<int32_t>(std::clamp(0.0, -128 - least, 127 - most))};
    std::vector<int8_t> integers;
    for (const double v : values) integers.push_back(static_cast<int8_t>(affine.integer(v)));
    return add_operand(graph_, graph_.at(t).name, graph_.shape(t), std::move(integers), affine).id;
  }

  void push(Op op) { graph_.table.operators.push_back(std::move(op)); }

  Graph& graph_;
  Lowered lowered_;
  PerTensor<TensorId> integers_;  // of Float32 values: the Int8 form; None: there is none
  PerTensor<TensorId> sources_;   // of Int8 outputs of Requantize: what has their integers; None: not yet
  PerTensor<const fbs::OperatorT*> rounded_by_;  // of Float32 values: a Requantize that reads it
  PerTensor<size_t> uses_;                       // by operators
  PerTensor<bool> needed_;                       // before rounding: by outputs and taps of blocks
  PerTensor<bool> seen_;                         // likewise, and by every tap with keep_taps
  std::set<TensorId> dequantized_;
};

}  // namespace

Lowered compute_on_integers(Graph& graph, const PassOptions& options) {
  const auto& operators = graph.table.operators;
  if (std::none_of(operators.begin(), operators.end(), [](const Op& op) { return quantizes(*op); })) return {};
  transposed_as_convolutions(graph);
  const Lowered lowered = Lowering(graph, options).run();
  remove_dead_code(graph, options);
  return lowered;
}

namespace {

// TensorFlow joins the names of what it fused by semicolons.
std::string first_name(const fbs::OperatorT& op) {
  constexpr size_t kLongest = 200;
  return op.name.substr(0, std::min(op.name.find(';'), kLongest));
}

void tap_integers(Graph& graph) {
  constexpr size_t kMost = 16;
  std::set<std::string> names;
  for (const auto* ports : {&graph.table.outputs, &graph.table.taps})
    for (const auto& port : *ports) names.insert(port->name);
  std::vector<std::pair<size_t, TensorId>> results;  // with the place of their operator
  const auto& operators = graph.table.operators;
  for (size_t i = 0; i < operators.size(); ++i) {
    const TensorId y = operators[i]->outputs.front();
    const Role role = role_of(*operators[i]);
    if (graph.at(y).dtype == fbs::DType::Int8 && (role == Role::Weighted || role == Role::Arithmetic) &&
        !operators[i]->name.empty() && names.insert(first_name(*operators[i])).second)
      results.emplace_back(i, y);
  }
  const size_t step = (results.size() + kMost - 1) / kMost;
  std::vector<Op> before = std::move(graph.table.operators);
  graph.table.operators.clear();
  size_t next = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    graph.table.operators.push_back(std::move(before[i]));
    if (next == results.size() || results[next].first != i) continue;
    const Tensor y{&graph, results[next].second};
    const std::string name = first_name(*graph.table.operators.back());
    if (next++ % step == step - 1) graph.add_tap(name, dequantize(y), fbs::Layout::Same, true);
  }
}

}  // namespace

void finish_integers(Graph& graph, const PassOptions& options, std::vector<std::string>* notes) {
  const Lowered lowered = compute_on_integers(graph, options);
  if (!options.keep_taps) tap_integers(graph);
  if (lowered.rounded > 0 && notes != nullptr)
    notes->push_back(std::to_string(lowered.rounded) + " of " + std::to_string(lowered.channels) +
                     " output channels have weights beyond -127 to 127 times their scale: these channels were rounded "
                     "to a scale of their own");
}

bool has_int8_activations(const fbs::GraphT& graph) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [](const auto& tensor) { return tensor->buffer == 0 && tensor->dtype == fbs::DType::Int8; });
}

}  // namespace ferry::int8
