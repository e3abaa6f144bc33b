#include "sdk/model/verify_meaning.h"

#include <algorithm>
#include <memory>
#include <new>

#include "sdk/model/model.h"
#include "sdk/model/verify_loops.h"
#include "sdk/model/verify_ports.h"
#include "sdk/model/verify_recipes.h"
#include "sdk/model/verify_shared.h"
#include "sdk/model/verify_states.h"
#include "sdk/model/verify_types.h"
#include "sdk/operators/built_in.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type_rules.h"

namespace ferry {
namespace {

using ull = unsigned long long;
using Ports = flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>;

constexpr bool kHasLoops = built_in(fbs::OpParams::LoopBegin);

// Data shared by the graphs of a blob.
struct Blob {
  const fbs::Graph& root;
  uint64_t data_bytes;
  StateShapes states = {};
  uint32_t operands = 0;  // of all operators checked so far
};

// One pass over a graph; each check relies on those before it.
class Meaning {
 public:
  Meaning(const fbs::Graph& graph, Blob* blob) : graph_(graph), blob_(*blob), states_(blob->states), loops_(graph) {}

  Status check() {
    FERRY_TRY(check_presence());
    for (const TensorId t : TensorIds(count(graph_.tensors()))) FERRY_TRY(check_tensor(t));
    FERRY_TRY(verify_types(graph_));
    state_.reset(new (std::nothrow) State[count(graph_.tensors())]());
    shapes_.reset(new (std::nothrow) Shape[kMaxOperatorInputs]);
    types_.reset(new (std::nothrow) Type[kMaxOperatorInputs]);
    changed_.reset(new (std::nothrow) bool[states_.size()]());
    largest_.reset(new (std::nothrow) Shape[count(graph_.tensors())]);
    largest_inputs_.reset(new (std::nothrow) Shape[kMaxOperatorInputs]);
    held_.reset(new (std::nothrow) uint32_t[count(graph_.tensors())]());
    if (!state_ || !shapes_ || !types_ || !changed_ || !largest_ || !largest_inputs_ || !held_)
      return error(FERRY_OUT_OF_MEMORY, "no memory to verify %u tensors", count(graph_.tensors()));
    FERRY_TRY(check_inputs());
    FERRY_TRY(check_bounds());
    for (uint32_t i = 0; i < count(graph_.operators()); ++i) FERRY_TRY(check_operator(i));
    if constexpr (kHasLoops) FERRY_TRY(loops_.finish());
    FERRY_TRY(check_ports("output", graph_.outputs()));
    FERRY_TRY(check_ports("tap", graph_.taps()));
    FERRY_TRY(verify_counts(graph_));
    return verify_recipes(graph_);
  }

 private:
  // Ended: computed in a loop that has ended.
  enum class State : uint8_t { Missing, Input, Produced, Ended };

  Status check_presence() const;
  Status check_tensor(TensorId id) const;
  Status check_segment(TensorId id, int64_t elements) const;
  Status check_inputs();
  Status check_operator(uint32_t index);
  Status check_operand(uint32_t op, uint32_t place);
  Status check_held(uint32_t op, uint32_t place) const;
  Status check_loop(uint32_t index);
  Status check_outputs(uint32_t index);
  Status check_largest(uint32_t index);
  Status check_change(uint32_t index);
  Status check_bounds();
  Status check_ports(const char* kind, const Ports* ports) const;
  Status check_port(const char* kind, uint32_t index, const fbs::Port& port) const;

  bool exists(TensorId id) const { return index_of(id) < count(graph_.tensors()); }
  const fbs::Tensor& tensor(TensorId id) const { return *graph_.tensors()->Get(index_of(id)); }
  State& state(TensorId id) const { return state_[index_of(id)]; }
  Shape& largest(TensorId id) const { return largest_[index_of(id)]; }

  const fbs::Graph& graph_;
  Blob& blob_;
  const std::span<const StateShape> states_;
  OpenLoops loops_;
  std::unique_ptr<State[]> state_;   // per tensor
  std::unique_ptr<Shape[]> shapes_;  // inputs of the current operator
  std::unique_ptr<Type[]> types_;
  std::unique_ptr<bool[]> changed_;          // per state: an operator has changed it
  std::unique_ptr<Shape[]> largest_;         // per tensor: shape at the inputs' bounds
  std::unique_ptr<Shape[]> largest_inputs_;  // of the current operator, at the bounds
  std::unique_ptr<uint32_t[]> held_;         // per tensor: 1 + the state that it holds for attention alone; otherwise 0
};

Status Meaning::check_presence() const {
  if (count(graph_.tensors()) == 0) return error(FERRY_CORRUPT, "graph: no tensors");
  if (count(graph_.operators()) == 0) return error(FERRY_CORRUPT, "graph: no operators");
  if (count(graph_.inputs()) == 0) return error(FERRY_CORRUPT, "graph: no inputs");
  if (count(graph_.outputs()) == 0) return error(FERRY_CORRUPT, "graph: no outputs");
  return {};
}

Status Meaning::check_tensor(TensorId id) const {
  const uint32_t index = index_of(id);
  const fbs::Tensor& t = tensor(id);
  const uint32_t rank = count(t.shape());
  if (rank > FERRY_MAX_RANK)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': has %u dimensions, at most %d are allowed", index, text(t.name()),
                 rank, FERRY_MAX_RANK);
  int64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const int32_t d = t.shape()->Get(i);
    if (d < 1)
      return error(FERRY_CORRUPT, "tensor %u '%.64s': dimension %u is %d, expected 1 or more", index, text(t.name()), i,
                   d);
    if (elements > kMaxElements / d)
      return error(FERRY_CORRUPT, "tensor %u '%.64s': %s has more than " FERRY_MAX_ELEMENTS " elements", index,
                   text(t.name()), in_words(declared_shape(t)).c_str());
    elements *= d;
  }
  FERRY_TRY(verify_dtype(t, id));
  return t.buffer() != 0 ? check_segment(id, elements) : Status();
}

// A constant's segment has exactly the size of its elements.
Status Meaning::check_segment(TensorId id, int64_t elements) const {
  const uint32_t index = index_of(id);
  const fbs::Tensor& t = tensor(id);
  if (t.buffer() >= count(blob_.root.buffers()))
    return error(FERRY_CORRUPT, "tensor %u '%.64s': buffer %u of %u does not exist", index, text(t.name()), t.buffer(),
                 count(blob_.root.buffers()));
  const uint64_t want = bytes_of(t.dtype(), elements);
  const uint64_t size = blob_.root.buffers()->Get(t.buffer())->size();
  if (size != want)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': %s of %s takes %llu bytes, buffer %u has %llu", index,
                 text(t.name()), in_words(declared_shape(t)).c_str(), EnumNameDType(t.dtype()), static_cast<ull>(want),
                 t.buffer(), static_cast<ull>(size));
  return {};
}

Status Meaning::check_inputs() {
  const Ports& inputs = *graph_.inputs();
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const TensorId t = inputs.Get(i)->tensor();
    if (!exists(t)) break;  // check_ports() reports it
    if (state(t) == State::Input)
      return error(FERRY_CORRUPT, "input %u: tensor %u is an input already", i, index_of(t));
    state(t) = State::Input;
  }
  return check_ports("input", graph_.inputs());
}

Status Meaning::check_operator(uint32_t index) {
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const char* name = text(op.name());
  const uint32_t inputs = count(op.inputs());
  blob_.operands += std::min(inputs, kMaxInputs);
  if (inputs == 0 || inputs > kMaxOperatorInputs || blob_.operands > kMaxInputs)
    return error(FERRY_CORRUPT, "operator %u '%.64s': %u inputs, expected 1 to %u, and at most %u in all operators",
                 index, name, inputs, kMaxOperatorInputs, kMaxInputs);
  for (uint32_t i = 0; i < inputs; ++i) {
    FERRY_TRY(check_operand(index, i));
    shapes_[i] = declared_shape(tensor(op.inputs()->Get(i)));
  }
  FERRY_TRY(check_outputs(index));
  return kHasLoops ? check_loop(index) : Status();
}

Status Meaning::check_loop(uint32_t index) {
  uint32_t ended = index;
  FERRY_TRY(loops_.follow(index, &ended));
  for (; ended < index; ++ended)
    for (const TensorId t : *graph_.operators()->Get(ended)->outputs()) state(t) = State::Ended;
  return {};
}

Status Meaning::check_outputs(uint32_t index) {
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const char* name = text(op.name());
  const uint32_t inputs = count(op.inputs()), outputs = count(op.outputs());
  if (outputs == 0 || outputs > traits(op.params_type()).outputs)
    return error(FERRY_CORRUPT, "operator %u '%.64s': %u outputs, expected %s%u", index, name, outputs,
                 traits(op.params_type()).outputs > 1 ? "1 to " : "", traits(op.params_type()).outputs);
  for (uint32_t i = 0; i < outputs; ++i) {
    const TensorId out = op.outputs()->Get(i);
    if (!exists(out))
      return error(FERRY_CORRUPT, "operator %u '%.64s': output tensor %d of %u does not exist", index, name,
                   static_cast<int>(out), count(graph_.tensors()));
    if (tensor(out).buffer() != 0)
      return error(FERRY_CORRUPT, "operator %u '%.64s': output tensor %u is a constant", index, name, index_of(out));
    if (state(out) != State::Missing)
      return error(FERRY_CORRUPT, "operator %u '%.64s': output tensor %u is %s already", index, name, index_of(out),
                   state(out) == State::Input ? "an input" : "computed");
    state(out) = State::Produced;
  }

  Shape shapes[kMaxOutputs];
  Type types[kMaxOutputs];
  Status status = infer_shapes(op, {shapes_.get(), inputs}, states_, {shapes, outputs});
  if (status.ok()) status = infer_types(op, {types_.get(), inputs}, {types, outputs});
  if (status.ok()) status = check_state_type(op, {types_.get(), inputs}, states_);
  if (!status.ok())
    return error(status.code() == FERRY_UNSUPPORTED ? FERRY_UNSUPPORTED : FERRY_CORRUPT, "operator %u '%.64s': %s",
                 index, name, status.message().data());
  for (uint32_t i = 0; i < outputs; ++i) {
    const TensorId out = op.outputs()->Get(i);
    if (shapes[i] != declared_shape(tensor(out)))
      return error(FERRY_CORRUPT, "operator %u '%.64s': gives %s, but output tensor %u declares %s", index, name,
                   in_words(shapes[i]).c_str(), index_of(out), in_words(declared_shape(tensor(out))).c_str());
    if (types[i].dtype != tensor(out).dtype())
      return error(FERRY_CORRUPT, "operator %u '%.64s': gives %s, but output tensor %u declares %s", index, name,
                   EnumNameDType(types[i].dtype), index_of(out), EnumNameDType(tensor(out).dtype()));
    if (types[i].float_scale != 0 && !same_quantization(types[i], type_of(tensor(out))))
      return error(FERRY_CORRUPT,
                   "operator %u '%.64s': output tensor %u has another scale or zero point than the input", index, name,
                   index_of(out));
  }
  FERRY_TRY(check_change(index));
  return check_largest(index);
}

// The operator must accept its inputs' shapes at the inputs' bounds, with full states.
Status Meaning::check_largest(uint32_t index) {
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const uint32_t inputs = count(op.inputs()), outputs = count(op.outputs());
  bool larger = op.params_type() == fbs::OpParams::Append;
  for (uint32_t i = 0; i < inputs; ++i) {
    largest_inputs_[i] = largest(op.inputs()->Get(i));
    larger = larger || largest_inputs_[i] != shapes_[i];
  }
  Shape shapes[kMaxOutputs];
  if (larger) {
    const Status status = infer_largest_shapes(op, {largest_inputs_.get(), inputs}, states_, {shapes, outputs});
    if (!status.ok())
      return error(FERRY_CORRUPT, "operator %u '%.64s': at the inputs' bounds: %s", index, text(op.name()),
                   status.message().data());
  }
  for (uint32_t i = 0; i < outputs; ++i) {
    const TensorId out = op.outputs()->Get(i);
    largest(out) = larger ? shapes[i] : declared_shape(tensor(out));
  }
  return {};
}

// Records the maximum shape of every tensor that is not computed by an operator.
Status Meaning::check_bounds() {
  for (const TensorId t : TensorIds(count(graph_.tensors()))) largest(t) = declared_shape(tensor(t));
  for (uint32_t i = 0; i < graph_.inputs()->size(); ++i) {
    const fbs::Port& port = *graph_.inputs()->Get(i);
    if (port.bound() == nullptr) continue;
    Shape& shape = largest(port.tensor());
    if (static_cast<int>(port.bound()->size()) != shape.rank)
      return error(FERRY_CORRUPT, "input %u '%.64s': a bound of %u dimensions, the tensor has %d", i, text(port.name()),
                   port.bound()->size(), shape.rank);
    for (int d = 0; d < shape.rank; ++d) {
      const int32_t bound = port.bound()->Get(static_cast<uint32_t>(d));
      if (bound < shape[d])
        return error(FERRY_CORRUPT, "input %u '%.64s': dimension %d is at most %d, but %d by default", i,
                     text(port.name()), d, bound, shape[d]);
      shape[d] = bound;
    }
  }
  return {};
}

// Only one operator may change a state.
Status Meaning::check_change(uint32_t index) {
  if constexpr (!states_built_in()) return {};
  const fbs::Operator& op = *graph_.operators()->Get(index);
  if (!changes_state(op.params_type())) return {};
  const uint32_t state = state_of(op);
  if (changed_[state])
    return error(FERRY_CORRUPT, "operator %u '%.64s': changes state %u, which another operator has changed", index,
                 text(op.name()), state);
  changed_[state] = true;
  if (states_[state].window > 0 || states_[state].block > 0) held_[index_of(output_of(op))] = 1 + state;
  return {};
}

// Only attention may read a state with a window or a block: no further back than the window, whole blocks of a head.
Status Meaning::check_held(uint32_t index, uint32_t place) const {
  if constexpr (!states_built_in()) return {};
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const uint32_t held = held_[index_of(op.inputs()->Get(place))];
  if (held == 0) return {};
  const StateShape& state = states_[held - 1];
  const fbs::Attention* attention = op.params_as_Attention();
  const bool reads = attention != nullptr && (place == 1 || place == 2) && attention->causal();
  const bool sees = reads && attention->window() > 0 && attention->window() <= state.window;
  const bool whole = reads && attention->kv_heads() > 0 && state.block > 0 &&
                     state.bound[2] / attention->kv_heads() % state.block == 0;
  if ((sees || state.window == 0) && (whole || state.block == 0)) return {};
  const bool window = !sees && state.window > 0;
  return error(FERRY_CORRUPT,
               "operator %u '%.64s': input %u is a state with %s of %d, expected keys or values of causal attention "
               "that %s",
               index, text(op.name()), place, window ? "a window" : "blocks", window ? state.window : state.block,
               window ? "sees no more" : "has whole blocks in a head");
}

// Checks input `place` of operator `op`: it exists, was computed before, and has an accepted kind. Records its type.
Status Meaning::check_operand(uint32_t index, uint32_t place) {
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const TensorId in = op.inputs()->Get(place);
  if (!exists(in))
    return error(FERRY_CORRUPT, "operator %u '%.64s': input tensor %d of %u does not exist", index, text(op.name()),
                 static_cast<int>(in), count(graph_.tensors()));
  const fbs::Tensor& t = tensor(in);
  const bool constant = t.buffer() != 0;
  if (!constant && state(in) == State::Missing)
    return error(FERRY_CORRUPT, "operator %u '%.64s': reads tensor %u '%.64s' before anything computes it", index,
                 text(op.name()), index_of(in), text(t.name()));
  if (state(in) == State::Ended)
    return error(FERRY_CORRUPT, "operator %u '%.64s': reads tensor %u, which is computed in a loop that has ended",
                 index, text(op.name()), index_of(in));
  if (takes_constant(op.params_type(), place) && !constant)
    return error(FERRY_UNSUPPORTED, "operator %u '%.64s': input %u of a %s must be a constant", index, text(op.name()),
                 place, op_name(op.params_type()));
  types_[place] = type_of(t);
  return check_held(index, place);
}

Status Meaning::check_ports(const char* kind, const Ports* ports) const {
  if (count(ports) > kMaxPorts)
    return error(FERRY_CORRUPT, "graph: %u %ss, at most %u are allowed", count(ports), kind, kMaxPorts);
  for (uint32_t i = 0; i < count(ports); ++i) FERRY_TRY(check_port(kind, i, *ports->Get(i)));
  return verify_unique_names(kind, count(ports), [&](uint32_t i) { return ports->Get(i)->name(); });
}

Status Meaning::check_port(const char* kind, uint32_t index, const fbs::Port& port) const {
  FERRY_TRY(verify_name(kind, index, port.name()));
  const char* name = port.name()->c_str();
  if (!exists(port.tensor()))
    return error(FERRY_CORRUPT, "%s %u '%.64s': tensor %u of %u does not exist", kind, index, name,
                 index_of(port.tensor()), count(graph_.tensors()));
  const fbs::Tensor& t = tensor(port.tensor());
  if (t.buffer() != 0)
    return error(FERRY_CORRUPT, "%s %u '%.64s': tensor %u is a constant, expected a value that the graph computes",
                 kind, index, name, index_of(port.tensor()));
  if (state(port.tensor()) == State::Missing)
    return error(FERRY_CORRUPT, "%s %u '%.64s': nothing computes tensor %u", kind, index, name,
                 index_of(port.tensor()));
  if (state(port.tensor()) == State::Ended)
    return error(FERRY_CORRUPT, "%s '%.64s': tensor %u is computed in a loop", kind, name, index_of(port.tensor()));
  if (const uint32_t held = held_[index_of(port.tensor())]; held > 0 && states_[held - 1].block > 0)
    return error(FERRY_CORRUPT, "%s %u '%.64s': tensor %u is a state with blocks, which attention alone reads", kind,
                 index, name, index_of(port.tensor()));
  if (t.dtype() == fbs::DType::Int8)
    return error(FERRY_UNSUPPORTED, "%s %u '%.64s': tensor %u is of type Int8, expected Float32 or Int32", kind, index,
                 name, index_of(port.tensor()));
  if (port.source_layout() > fbs::Layout::MAX)
    return error(FERRY_UNSUPPORTED, "%s %u '%.64s': layout %u is unknown to this version", kind, index, name,
                 static_cast<unsigned>(port.source_layout()));
  if (port.source_layout() == fbs::Layout::NCHW && count(t.shape()) != 4)
    return error(FERRY_CORRUPT, "%s %u '%.64s': layout NCHW for a tensor of %u dimensions, expected 4", kind, index,
                 name, count(t.shape()));
  return {};
}

}  // namespace

Status verify_meaning(const fbs::Graph& root, uint64_t data_bytes) {
  Blob blob{root, data_bytes};
  FERRY_TRY(verify_shared(root, data_bytes));
  FERRY_TRY(verify_states(root, &blob.states));
  FERRY_TRY(Meaning(root, &blob).check());
  for (uint32_t i = 0; i < count(root.graphs()); ++i) {
    const fbs::Graph& graph = *root.graphs()->Get(i);
    Status status = verify_nested(graph);
    if (status.ok()) status = Meaning(graph, &blob).check();
    if (!status.ok())
      return error(status.code(), "graph %u '%.64s': %s", i + 1, text(graph.name()), status.message().data());
  }
  FERRY_TRY(verify_second_graph(root, root));
  for (uint32_t i = 0; i < count(root.graphs()); ++i) FERRY_TRY(verify_second_graph(*root.graphs()->Get(i), root));
  return {};
}

Shape declared_shape(const fbs::Tensor& tensor) {
  Shape shape;
  for (uint32_t i = 0; i < count(tensor.shape()); ++i) shape[shape.rank++] = tensor.shape()->Get(i);
  return shape;
}

}  // namespace ferry
