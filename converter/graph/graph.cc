#include "converter/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "sdk/model/elements.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type_rules.h"

namespace ferry {
namespace {

// The graph's type for a framework's type.
fbs::DType held_as(fbs::DType source) {
  switch (source) {
    case fbs::DType::Float16:
    case fbs::DType::BFloat16:
    case fbs::DType::Float32:
    case fbs::DType::Float64: return fbs::DType::Float32;
    default: return fbs::DType::Int32;
  }
}

}  // namespace

Shape Tensor::shape() const { return graph->shape(id); }
fbs::DType Tensor::dtype() const { return graph->dtype(id); }

Graph::Graph() { constants_.emplace_back(); }

TensorId Graph::add_tensor(const std::string& name, fbs::DType dtype, const Shape& shape, uint32_t buffer) {
  auto tensor = std::make_unique<fbs::TensorT>();
  tensor->name = name;
  tensor->dtype = dtype;
  tensor->shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  tensor->buffer = buffer;
  table.tensors.push_back(std::move(tensor));
  return tensor_at(table.tensors.size() - 1);
}

Tensor Graph::add_input(const std::string& name, const Shape& shape, fbs::Layout source_layout, fbs::DType source) {
  const TensorId id = add_tensor(name, held_as(source), shape, 0);
  auto port = std::make_unique<fbs::PortT>();
  port->name = name;
  port->tensor = id;
  port->source_layout = source_layout;
  port->source_dtype = source;
  table.inputs.push_back(std::move(port));
  return {this, id};
}

void Graph::add_output(const std::string& name, Tensor value, fbs::Layout source_layout, fbs::DType source) {
  auto port = std::make_unique<fbs::PortT>();
  port->name = name;
  port->tensor = value.id;
  port->source_layout = source_layout;
  port->source_dtype = source;
  table.outputs.push_back(std::move(port));
}

void Graph::add_tap(const std::string& name, Tensor value, fbs::Layout source_layout, bool block) {
  for (const auto& tap : table.taps) {
    if (tap->name != name) continue;
    if (tap->tensor != value.id) fail("two values are tapped as '%s'", name.c_str());
    tap->block = tap->block || block;
    return;
  }
  auto port = std::make_unique<fbs::PortT>();
  port->name = name;
  port->tensor = value.id;
  port->source_layout = source_layout;
  port->block = block;
  table.taps.push_back(std::move(port));
}

State Graph::add_state(const std::string& name, const Shape& shape, int axis, fbs::DType dtype, int window) {
  auto state = std::make_unique<fbs::StateT>();
  state->name = name;
  state->dtype = dtype;
  state->shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  state->axis = axis;
  state->window = window;
  table.states.push_back(std::move(state));
  return {this, static_cast<uint32_t>(table.states.size() - 1)};
}

std::vector<StateShape> Graph::state_shapes() const {
  std::vector<StateShape> shapes;
  for (const auto& state : table.states) {
    StateShape& s = shapes.emplace_back();
    for (int32_t d : state->shape) s.bound[s.bound.rank++] = d;
    s.axis = state->axis;
    s.dtype = state->dtype;
    s.window = state->window;
    s.block = state->block;
  }
  return shapes;
}

Tensor Graph::add_constant(const std::string& name, fbs::DType dtype, const Shape& shape, Constant data) {
  const size_t want = bytes_of(dtype, shape.elements());
  if (data.byte_count() != want)
    fail("constant '%s' of shape %s has %zu bytes, expected %zu", name.c_str(), to_string(shape).c_str(),
         data.byte_count(), want);
  constants_.push_back(std::move(data));
  return {this, add_tensor(name, dtype, shape, static_cast<uint32_t>(constants_.size() - 1))};
}

Tensor Graph::add_constant(const std::string& name, const Shape& shape, std::vector<double> values) {
  return add_constant(name, fbs::DType::Float64, shape, hold(std::move(values)));
}

Tensor Graph::add_constant(const std::string& name, const Shape& shape, std::vector<float> values) {
  return add_constant(name, fbs::DType::Float32, shape, hold(std::move(values)));
}

void Graph::set_quantization(TensorId tensor, float scale, int zero_point) {
  auto quantization = std::make_unique<fbs::QuantizationT>();
  quantization->float_scale = scale;
  quantization->zero_point = zero_point;
  at(tensor).quantization = std::move(quantization);
}

std::vector<Tensor> Graph::append(std::unique_ptr<fbs::OperatorT> op, size_t outputs) {
  std::vector<Shape> shapes;
  std::vector<Type> types;
  for (TensorId input : op->inputs) {
    shapes.push_back(shape(input));
    types.push_back(type(input));
  }
  std::vector<Shape> output_shapes(outputs);
  std::vector<Type> output_types(outputs);
  const SerializedOp serialized(*op);
  const std::vector<StateShape> states = names_state(op->params.type) ? state_shapes() : std::vector<StateShape>();
  Status status = infer_shapes(*serialized, shapes, states, output_shapes);
  if (status.ok()) status = infer_types(*serialized, types, output_types);
  if (status.ok()) status = check_state_type(*serialized, types, states);
  if (!status.ok()) fail("'%s': %s", op->name.c_str(), status.message().data());
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < outputs; ++i) {
    tensors.push_back({this, add_tensor(op->name, output_types[i].dtype, output_shapes[i], 0)});
    if (output_types[i].float_scale != 0)
      set_quantization(tensors.back().id, output_types[i].float_scale, output_types[i].zero_point);
    op->outputs.push_back(tensors.back().id);
  }
  table.operators.push_back(std::move(op));
  return tensors;
}

Tensor Graph::add_constant(const std::string& name, const Shape& shape, std::vector<int32_t> values) {
  return add_constant(name, fbs::DType::Int32, shape, hold(std::move(values)));
}

std::unique_ptr<Graph> Graph::copy() {
  for (Constant& constant : constants_)  // add_graph() compares owners to find constants that are computed twice
    if (constant.compute && !constant.owner) constant.owner = std::make_shared<const char>();
  auto out = std::make_unique<Graph>();
  out->table = table;
  out->constants_ = constants_;
  return out;
}

void Graph::adopt(fbs::GraphT blob, std::vector<Constant> segments) {
  table = std::move(blob);
  constants_ = std::move(segments);
}

void Graph::add_graph(Graph&& other) {
  std::vector<uint32_t> states;  // by the other graph's index
  for (auto& state : other.table.states) {
    const auto same = std::find_if(table.states.begin(), table.states.end(),
                                   [&](const auto& mine) { return mine->name == state->name; });
    states.push_back(static_cast<uint32_t>(same - table.states.begin()));
    if (same == table.states.end()) {
      table.states.push_back(std::move(state));
    } else if ((*same)->shape != state->shape || (*same)->axis != state->axis || (*same)->dtype != state->dtype ||
               (*same)->window != state->window) {
      fail("graph '%s' has a state '%s' of another shape, type or window than graph '%s'", other.table.name.c_str(),
           state->name.c_str(), table.name.c_str());
    }
  }
  other.table.states.clear();
  for (auto& op : other.table.operators) {
#define FERRY_RENUMBER(Type, ...) \
  if (auto* p = op->params.As##Type()) p->state = states[p->state];
    FERRY_OPERATORS_WITH_STATE(FERRY_RENUMBER)
#undef FERRY_RENUMBER
  }

  using MemoryKey = std::tuple<const void*, size_t, fbs::DType>;
  std::map<MemoryKey, uint32_t> known;
  const auto memory_key = [](const Constant& constant, const fbs::TensorT& tensor) {
    const void* computed = constant.owner ? constant.owner.get() : &constant;
    return MemoryKey(constant.compute ? computed : constant.bytes.data(), constant.byte_count(), tensor.dtype);
  };
  const auto note = [&](const fbs::GraphT& graph) {
    for (const auto& tensor : graph.tensors)
      if (tensor->buffer != 0) known.emplace(memory_key(constants_[tensor->buffer], *tensor), tensor->buffer);
  };
  note(table);
  for (const auto& graph : table.graphs) note(*graph);
  for (auto& tensor : other.table.tensors) {
    if (tensor->buffer == 0) continue;
    const Constant& constant = other.constants_[tensor->buffer];
    const auto [found, added] = known.emplace(memory_key(constant, *tensor), static_cast<uint32_t>(constants_.size()));
    if (added) constants_.push_back(constant);
    tensor->buffer = found->second;
  }
  table.graphs.push_back(std::make_unique<fbs::GraphT>(std::move(other.table)));
}

void Graph::make_constant(TensorId tensor, std::vector<double> values) {
  if (at(tensor).dtype == fbs::DType::Int32)
    make_constant(tensor, fbs::DType::Int32, hold(std::vector<int32_t>(values.begin(), values.end())));
  else
    make_constant(tensor, fbs::DType::Float64, hold(std::move(values)));
}

void Graph::make_constant(TensorId tensor, fbs::DType dtype, Constant data) {
  constants_.push_back(std::move(data));
  at(tensor).dtype = dtype;
  at(tensor).buffer = static_cast<uint32_t>(constants_.size() - 1);
}

void Graph::store_integers(uint32_t buffer, const Type& type, Constant integers, Constant scales,
                           fbs::DType of_blocks) {
  constants_[buffer] = std::move(integers);
  constants_.push_back(std::move(scales));
  for (fbs::GraphT* graph : tables_of(table)) {
    auto& tensors = graph->tensors;
    std::unique_ptr<fbs::TensorT> scale;
    for (const auto& t : tensors) {
      if (t->buffer != buffer) continue;
      if (!scale) {
        scale = std::make_unique<fbs::TensorT>();
        scale->name = t->name + ".scale";
        scale->buffer = static_cast<uint32_t>(constants_.size() - 1);
        if (type.block == 0) {
          scale->dtype = fbs::DType::Float32;
          scale->shape = {t->shape[static_cast<size_t>(type.axis)]};
        } else {
          scale->dtype = of_blocks;
          scale->shape = t->shape;
          scale->shape.back() /= type.block;
        }
      }
      t->dtype = type.dtype;
      t->quantization = std::make_unique<fbs::QuantizationT>();
      t->quantization->scale = tensor_at(tensors.size());
      t->quantization->axis = type.axis;
      t->quantization->block = type.block;
      t->quantization->zero_point = type.zero_point;
    }
    if (scale) tensors.push_back(std::move(scale));
  }
}

void Graph::forget_constant(TensorId tensor) { constants_[at(tensor).buffer] = {}; }

void Graph::compact(const PerTensor<bool>& keep) {
  PerTensor<TensorId> renumbered(keep.size(), TensorId::None);
  std::vector<std::unique_ptr<fbs::TensorT>> tensors;
  std::vector<Constant> constants(1);
  for (const TensorId t : keep.ids()) {
    if (!keep[t]) continue;
    renumbered[t] = tensor_at(tensors.size());
    tensors.push_back(std::move(table.tensors[index_of(t)]));
    uint32_t& buffer = tensors.back()->buffer;
    if (buffer == 0) continue;
    constants.push_back(std::move(constants_[buffer]));
    buffer = static_cast<uint32_t>(constants.size() - 1);
  }
  for (const auto& tensor : tensors)
    if (const auto& q = tensor->quantization; q && q->float_scale == 0) q->scale = renumbered[q->scale];
  table.tensors = std::move(tensors);
  constants_ = std::move(constants);
  for (auto& op : table.operators) {
    for (TensorId& t : op->inputs) t = renumbered[t];
    for (TensorId& t : op->outputs) t = renumbered[t];
  }
  for (auto* ports : {&table.inputs, &table.outputs, &table.taps})
    for (auto& port : *ports) port->tensor = renumbered[port->tensor];
}

Shape Graph::shape(TensorId tensor) const {
  Shape shape;
  for (int32_t d : at(tensor).shape) shape[shape.rank++] = d;
  return shape;
}

fbs::DType Graph::dtype(TensorId tensor) const { return held_as(at(tensor).dtype); }

Type Graph::type(TensorId tensor) const {
  const Type stored = type_of(at(tensor));
  return stored.quantized ? stored : Type{dtype(tensor)};
}

Constant Graph::constant(TensorId tensor) const { return source(tensor).read(); }

Constant Constant::read_part(size_t begin, size_t count) const {
  if (compute_part) return compute_part(begin, count);
  Constant part = read();
  part.bytes = part.bytes.subspan(begin, count);
  return part;
}

void read_in_parts(const Constant& constant, size_t unit,
                   const std::function<void(std::span<const std::byte> part, size_t begin)>& visit) {
  constexpr size_t kPart = size_t{1} << 20;
  unit = std::lcm(unit, std::max<size_t>(constant.part_unit, 1));
  const size_t size = constant.byte_count();
  const bool whole = constant.compute && !constant.compute_part;
  const size_t step = whole ? std::max<size_t>(size, 1) : std::max<size_t>(kPart / unit, 1) * unit;
  for (size_t begin = 0; begin < size; begin += step) {
    const Constant part = constant.read_part(begin, std::min(step, size - begin));
    visit(part.bytes, begin);
    if (part.done) part.done();
  }
}

std::vector<double> values_of(const Constant& stored, fbs::DType dtype, const std::string& name) {
  if (bits_of(dtype) == 0) fail("constant '%s': no widening from %s", name.c_str(), EnumNameDType(dtype));
  const Constant constant = stored.read();
  std::vector<double> numbers(8 * constant.bytes.size() / bits_of(dtype));
  constexpr size_t kAtOnce = size_t{1} << 30;  // a dimension has 31 bits
  for (size_t begin = 0; begin < numbers.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, numbers.size() - begin);
    read_elements({Type{dtype}, Shape{static_cast<int32_t>(count)},
                   constant.bytes.subspan(bytes_of(dtype, static_cast<int64_t>(begin)))},
                  numbers.data() + begin);
  }
  return numbers;
}

std::vector<double> Graph::values(TensorId tensor) const {
  const Type type = type_of(at(tensor));
  if (!type.quantized) return values_of(source(tensor), type.dtype, at(tensor).name);
  const Constant weight = constant(tensor);
  const Constant scales = type.float_scale != 0 ? hold(std::vector<float>{type.float_scale}) : constant(type.scale);
  const fbs::DType of_scales = type.float_scale != 0 ? fbs::DType::Float32 : at(type.scale).dtype;
  std::vector<double> numbers(static_cast<size_t>(shape(tensor).elements()));
  read_elements({type, shape(tensor), weight.bytes, scales.bytes, of_scales}, numbers.data());
  return numbers;
}

SerializedOp::SerializedOp(const fbs::OperatorT& op) { builder_.Finish(fbs::CreateOperator(builder_, &op)); }

const fbs::Operator& SerializedOp::operator*() const {
  return *flatbuffers::GetRoot<fbs::Operator>(builder_.GetBufferPointer());
}

std::unique_ptr<Graph> joined(std::vector<std::unique_ptr<Graph>> graphs) {
  for (size_t i = 1; i < graphs.size(); ++i) graphs.front()->add_graph(std::move(*graphs[i]));
  return std::move(graphs.front());
}

}  // namespace ferry
