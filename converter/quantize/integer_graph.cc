#include "converter/quantize/integer_graph.h"

#include <utility>

#include "converter/quantize/integer_ops.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

using fbs::OpParams;

class Builder {
 public:
  Builder(const Graph& from, const Plan& plan)
      : from_(from),
        plan_(plan),
        to_(std::make_unique<Graph>()),
        floats_(from.table.tensors.size(), TensorId::None),
        integers_(from.table.tensors.size(), TensorId::None),
        blocks_(from.table.tensors.size()) {
    for (const auto& tap : from.table.taps)
      if (tap->block) blocks_[tap->tensor] = true;
  }

  IntegerGraph build(std::span<const TensorId> watched) {
    copy_description();
    for (const auto& input : from_.table.inputs) {
      floats_[input->tensor] = add_activation(input->tensor, nullptr);
      add_port(*input, floats_[input->tensor], &to_->table.inputs);
    }
    for (size_t i = 0; i < from_.table.operators.size(); ++i) {
      add_operator(i);
      sources_.back() = i;
      for (const TensorId t : from_.table.operators[i]->outputs)
        if (blocks_[t]) as_float(t);
    }
    for (const auto& output : from_.table.outputs) add_port(*output, as_float(output->tensor), &to_->table.outputs);
    for (const TensorId t : watched) as_float(t);
    for (const auto& tap : from_.table.taps)
      if (floats_[tap->tensor] != TensorId::None) add_port(*tap, floats_[tap->tensor], &to_->table.taps);
    return {std::move(to_), std::move(sources_), std::move(floats_)};
  }

 private:
  void copy_description() {
    fbs::GraphT& to = to_->table;
    const fbs::GraphT& from = from_.table;
    to.name = from.name;
    to.labels = from.labels;
    to.text = from.text;
    if (from.preprocess) to.preprocess = std::make_unique<fbs::PreprocessT>(*from.preprocess);
    if (from.postprocess) to.postprocess = std::make_unique<fbs::PostprocessT>(*from.postprocess);
    if (from.provenance) to.provenance = std::make_unique<fbs::ProvenanceT>(*from.provenance);
  }

  void add_port(const fbs::PortT& port, TensorId tensor, std::vector<std::unique_ptr<fbs::PortT>>* to) {
    to->push_back(std::make_unique<fbs::PortT>(port));
    to->back()->tensor = tensor;
  }

  // Int8 with `affine`; without it of the type of `like`.
  TensorId add_activation(TensorId like, const Affine* affine) {
    const fbs::TensorT& from = from_.at(like);
    if (affine != nullptr) return int8::add_activation(*to_, from.name, from_.shape(like), *affine);
    auto tensor = std::make_unique<fbs::TensorT>();
    tensor->name = from.name;
    tensor->shape = from.shape;
    tensor->dtype = from.dtype;
    to_->table.tensors.push_back(std::move(tensor));
    return tensor_at(to_->table.tensors.size() - 1);
  }

  TensorId add(const std::string& name, fbs::OpParamsUnion params, std::vector<TensorId> inputs,
               std::vector<TensorId> outputs) {
    auto op = std::make_unique<fbs::OperatorT>();
    op->name = name;
    op->params = std::move(params);
    op->inputs = std::move(inputs);
    op->outputs = std::move(outputs);
    const TensorId first = op->outputs.front();
    to_->table.operators.push_back(std::move(op));
    sources_.push_back(IntegerGraph::kConversion);
    return first;
  }

  TensorId convert(TensorId tensor, TensorId input, const Affine* affine) {
    fbs::RequantizeT requantize;
    requantize.to = affine != nullptr ? fbs::DType::Int8 : fbs::DType::Float32;
    fbs::OpParamsUnion params;
    params.Set(std::move(requantize));
    return add(from_.at(tensor).name, std::move(params), {input}, {add_activation(tensor, affine)});
  }

  TensorId as_float(TensorId t) {
    TensorId& form = floats_[t];
    if (form == TensorId::None) form = from_.is_constant(t) ? copy_constant(t) : convert(t, integers_[t], nullptr);
    return form;
  }

  TensorId as_integer(TensorId t) {
    TensorId& form = integers_[t];
    if (form == TensorId::None)
      form = from_.is_constant(t) ? quantise_constant(t) : convert(t, floats_[t], &plan_.affine[t]);
    return form;
  }

  TensorId copy_constant(TensorId t) {
    const fbs::TensorT& tensor = from_.at(t);
    const TensorId out = to_->add_constant(tensor.name, tensor.dtype, from_.shape(t), from_.source(t)).id;
    if (tensor.quantization) {
      auto q = std::make_unique<fbs::QuantizationT>(*tensor.quantization);
      q->scale = as_float(tensor.quantization->scale);
      to_->at(out).quantization = std::move(q);
    }
    return out;
  }

  // An operand of arithmetic: one scale for all elements.
  TensorId quantise_constant(TensorId t) {
    const std::vector<double> values = from_.values(t);
    Range range;
    for (const double v : values) range = joined(range, {v, v});
    const Affine affine = affine_of(range);
    std::vector<int8_t> integers;
    for (const double v : values) integers.push_back(static_cast<int8_t>(affine.integer(v)));
    return add_operand(*to_, from_.at(t).name, from_.shape(t), std::move(integers), affine).id;
  }

  void add_operator(size_t index) {
    const fbs::OperatorT& op = *from_.table.operators[index];
    if (!computes_on_integers(from_, plan_, index)) return add_float(op);
    const TensorId result = op.outputs.front();
    integers_[result] = add_activation(result, &plan_.affine[result]);
    if (op.params.type == OpParams::Unary) return add_lookup(op);
    if (has_weight(op.params.type)) return add_weighted(op, *plan_.weights[index]);
    std::vector<TensorId> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool only_shape = i == 1 && may_be_sized_by_input(op.params.type);
      inputs.push_back(only_shape ? any_form(op.inputs[i]) : as_integer(op.inputs[i]));
    }
    add(op.name, op.params, std::move(inputs), {integers_[result]});
  }

  TensorId any_form(TensorId t) { return integers_[t] != TensorId::None ? integers_[t] : as_float(t); }

  void add_float(const fbs::OperatorT& op) {
    std::vector<TensorId> inputs, outputs;
    for (const TensorId t : op.inputs) inputs.push_back(as_float(t));
    for (const TensorId t : op.outputs) outputs.push_back(floats_[t] = add_activation(t, nullptr));
    add(op.name, op.params, std::move(inputs), std::move(outputs));
  }

  void add_lookup(const fbs::OperatorT& op) {
    const TensorId input = op.inputs.front(), result = op.outputs.front();
    const Tensor table = add_table(*to_, op, plan_.affine[input], plan_.affine[result]);
    fbs::OpParamsUnion params;
    params.Set(fbs::LookupT());
    add(op.name, std::move(params), {as_integer(input), table.id}, {integers_[result]});
  }

  void add_weighted(const fbs::OperatorT& op, const Weight& weight) {
    const TensorId x = op.inputs[0], w = op.inputs[1], result = op.outputs.front();
    const std::vector<Tensor> constants =
        add_weight(*to_, from_.at(w).name, from_.shape(w), weight, plan_.affine[x].scale, plan_.affine[result].scale);
    add(op.name, op.params, {as_integer(x), constants[0].id, constants[1].id}, {integers_[result]});
  }

  const Graph& from_;
  const Plan& plan_;
  std::unique_ptr<Graph> to_;
  std::vector<size_t> sources_;
  PerTensor<TensorId> floats_, integers_;  // the forms of each value; None: not yet there
  PerTensor<bool> blocks_;                 // tapped as the output of a block
};

}  // namespace

bool computes_on_integers(const Graph& graph, const Plan& plan, size_t index) {
  const fbs::OperatorT& op = *graph.table.operators[index];
  if (!plan.int8[index] || !has_weight(op.params.type)) return plan.int8[index];
  return representable(*plan.weights[index], plan.affine[op.inputs[0]].scale, plan.affine[op.outputs.front()].scale);
}

IntegerGraph integer_graph(const Graph& graph, const Plan& plan, std::span<const TensorId> watched) {
  return Builder(graph, plan).build(watched);
}

}  // namespace ferry::int8
