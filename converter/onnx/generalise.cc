#include "converter/onnx/generalise.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "converter/passes/passes.h"
#include "sdk/operators/loops.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type_rules.h"

namespace ferry::onnx {
namespace {

std::unique_ptr<fbs::OperatorT> copy_of(const fbs::OperatorT& op) { return std::make_unique<fbs::OperatorT>(op); }

// Removes parameters that fix the output's size, and the input that provides it.
void forget_sizes(fbs::OperatorT& op) {
  if (may_be_sized_by_input(op.params.type)) op.inputs.resize(1);
  if (auto* reshape = op.params.AsReshape()) reshape->shape.clear();
  if (auto* slice = op.params.AsSlice()) slice->size.clear();
  if (auto* pad = op.params.AsPad()) {
    pad->after.clear();
    pad->multiple.clear();
  }
  if (auto* resize = op.params.AsResize2d()) resize->scale_h = resize->scale_w = resize->height = resize->width = 1;
  if (auto* reverse = op.params.AsWindowReverse()) reverse->height = reverse->width = 1;
}

std::vector<uint8_t> bytes_of(const fbs::OperatorT& op) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::Operator::Pack(builder, &op));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

bool alike_but_for_sizes(const fbs::OperatorT& a, const fbs::OperatorT& b) {
  const auto x = copy_of(a), y = copy_of(b);
  forget_sizes(*x);
  forget_sizes(*y);
  return bytes_of(*x) == bytes_of(*y);
}

// `other`, an operator like `op` with an input of this shape, with those begins from the end that `op` has.
fbs::OperatorT at_begins_of(const fbs::OperatorT& op, const fbs::OperatorT& other, const Shape& input) {
  fbs::OperatorT out = other;
  const fbs::SliceT* slice = op.params.AsSlice();
  fbs::SliceT* theirs = out.params.AsSlice();
  if (!slice || !theirs || slice->begin.size() != theirs->begin.size()) return out;
  for (size_t d = 0; d < slice->begin.size(); ++d) {
    const int32_t size = theirs->size[d];
    if (slice->begin[d] == kLastElements) {
      if (size == -1 || theirs->begin[d] + size == input[static_cast<int>(d)]) theirs->begin[d] = kLastElements;
    } else if (slice->begin[d] < 0) {
      theirs->begin[d] -= input[static_cast<int>(d)];
    }
  }
  return out;
}

std::vector<Shape> input_shapes(const fbs::OperatorT& op, const Graph& graph) {
  std::vector<Shape> shapes;
  for (const TensorId input : op.inputs) shapes.push_back(graph.shape(input));
  return shapes;
}

// Whether `op` outputs this shape in `graph`, which has the same tensors in other sizes.
bool outputs_shape(const fbs::OperatorT& op, const Graph& graph) {
  Shape shape;
  const SerializedOp serialized(op);
  return infer_shape(*serialized, input_shapes(op, graph), &shape, graph.state_shapes()).ok() &&
         shape == graph.shape(op.outputs.front());
}

// Whether dimension `i` of the input and the output of `op` are equal in both graphs.
bool copies(const fbs::OperatorT& op, int i, const Graph& a, const Graph& b) {
  for (const Graph* graph : {&a, &b}) {
    const Shape in = graph->shape(op.inputs.front()), out = graph->shape(op.outputs.front());
    if (i >= in.rank || in[i] != out[i]) return false;
  }
  return true;
}

// An array without repetitions: dimensions along which all values are equal have size 1.
struct Unrepeated {
  Shape shape;
  std::vector<double> values;
  bool alike = true;  // else values differ along these dimensions, and `values` has the first ones
};

Unrepeated hold_once(const std::vector<double>& values, const Shape& shape, const std::vector<int>& along) {
  Unrepeated once{.shape = shape};
  for (const int i : along) once.shape[i] = 1;
  once.values.resize(static_cast<size_t>(once.shape.elements()));
  std::vector<bool> known(once.values.size());
  for (size_t element = 0; element < values.size(); ++element) {
    size_t rest = element, position = 0, stride = 1;
    for (int i = shape.rank - 1; i >= 0; --i) {
      const size_t size = static_cast<size_t>(shape[i]);
      if (once.shape[i] == shape[i]) {
        position += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    if (!known[position]) once.values[position] = values[element];
    known[position] = true;
    once.alike = once.alike && once.values[position] == values[element];
  }
  return once;
}

bool same_constant(const Graph& a, const Graph& b, TensorId tensor) {
  const Constant &from_a = a.source(tensor), &from_b = b.source(tensor);
  if (from_a.owner && from_a.owner == from_b.owner && from_a.bytes.data() == from_b.bytes.data() &&
      from_a.byte_count() == from_b.byte_count() && a.at(tensor).dtype == b.at(tensor).dtype)
    return a.shape(tensor) == b.shape(tensor);
  const Constant x = a.constant(tensor), y = b.constant(tensor);
  return a.at(tensor).dtype == b.at(tensor).dtype && a.shape(tensor) == b.shape(tensor) &&
         std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end());
}

// Whether `part` is the leading part of `whole` in every dimension.
bool is_leading_part(const Unrepeated& whole, const Unrepeated& part) {
  if (whole.shape.rank != part.shape.rank) return false;
  for (int i = 0; i < part.shape.rank; ++i)
    if (part.shape[i] > whole.shape[i]) return false;
  for (size_t element = 0; element < part.values.size(); ++element) {
    size_t rest = element, position = 0, stride = 1;
    for (int i = part.shape.rank - 1; i >= 0; --i) {
      position += rest % static_cast<size_t>(part.shape[i]) * stride;
      rest /= static_cast<size_t>(part.shape[i]);
      stride *= static_cast<size_t>(whole.shape[i]);
    }
    if (whole.values[position] != part.values[element]) return false;
  }
  return true;
}

bool is_initial_state(const fbs::OperatorT& op, size_t input) {
  return op.params.AsLoopBegin() && input >= LoopBeginInputs::kStates;
}

// Whether an input may be an activation where it is a constant now.
bool accepts_computed(const fbs::OperatorT& op, size_t input) {
  static_assert(LoopBeginInputs::kExtent == LoopEndInputs::kExtent);
  return (bounds_loop(op.params.type) && input == LoopBeginInputs::kExtent) || is_initial_state(op, input) ||
         op.params.AsBinary() || op.params.AsMatMul() || op.params.AsConcat() || op.params.AsSelect() ||
         op.params.AsGather() || (op.params.AsRotaryEmbedding() && input > 0) ||
         (op.params.AsAttention() && input >= 3);
}

// Whether an input that is constant along these dimensions may have size 1 there.
bool accepts_unrepeated(const fbs::OperatorT& op, size_t input, const std::vector<int>& along, const Graph& graph) {
  if (op.params.AsBinary() || op.params.AsSelect()) {  // another input determines the size
    std::vector<Shape> shapes = input_shapes(op, graph);
    for (const int i : along) shapes[input][i] = 1;
    Shape shape;
    const SerializedOp serialized(op);
    return infer_shape(*serialized, shapes, &shape).ok() && shape == graph.shape(op.outputs.front());
  }
  if (const auto* concat = op.params.AsConcat())
    return std::find(along.begin(), along.end(), concat->axis) == along.end();
  return op.params.AsAttention() && input >= 3 && along == std::vector<int>{0};
}

}  // namespace

void Generaliser::give_reason(const fbs::OperatorT& op, const std::string& what) {
  if (named_.insert(op.name).second) reasons_.push_back({op_name(op.params.type), op.name, opset_, what});
}

// Whether both graphs have equal numbers of operators and tensors; the passes then number them alike.
bool Generaliser::same_operators(const Graph& other) {
  const size_t mine = graph_.table.operators.size(), theirs = other.table.operators.size();
  if (mine == theirs && graph_.table.tensors.size() == other.table.tensors.size()) return true;
  reasons_.push_back({"", "", opset_,
                      "the open sizes decide which operators there are: " + std::to_string(mine) + " for one size, " +
                          std::to_string(theirs) + " for another"});
  return false;
}

void Generaliser::include(const Graph& other, const Graph* third) {
  if (!same_operators(other)) return;
  const bool alike = third && third->table.operators.size() == graph_.table.operators.size() &&
                     third->table.tensors.size() == graph_.table.tensors.size();
  third_ = alike ? third : nullptr;
  for (size_t i = 0; i < graph_.table.operators.size(); ++i) include_operator(i, other);
  third_ = nullptr;
}

// Ratio of the output's to the input's dimension, if equal in every graph; else 0.
int32_t Generaliser::scale_of(const fbs::OperatorT& op, int dim, const Graph& other) const {
  int32_t scale = 0;
  for (const Graph* graph : {const_cast<const Graph*>(&graph_), &other, third_}) {
    if (!graph) continue;
    const int32_t in = graph->shape(op.inputs.front())[dim], out = graph->shape(op.outputs.front())[dim];
    if (out % in != 0 || (scale != 0 && scale != out / in)) return 0;
    scale = out / in;
  }
  return scale;
}

// Dimension `dim` of `tensor` as a dimension of `value`, divided by `divisor`, if it is that in every graph.
std::optional<SizeCode> Generaliser::size_in(TensorId value, int32_t divisor, TensorId tensor, int dim,
                                             const Graph& other) const {
  for (int d = 0; d < graph_.shape(value).rank; ++d)
    for (const bool up : {false, true}) {
      const SizeCode code{d, divisor, up};
      const auto fits = [&](const Graph& graph) { return code.of(graph.shape(value)[d]) == graph.shape(tensor)[dim]; };
      if (fits(graph_) && fits(other) && (!third_ || fits(*third_))) return code;
    }
  return {};
}

// Finds a value computed before operator `i` whose dimensions equal `dims` of `tensor` in every graph, or give them
// divided by a small number. Prefers inputs, which stay in memory anyway, then the nearest value.
std::optional<Generaliser::Source> Generaliser::find_source(size_t i, TensorId tensor, const std::vector<int>& dims,
                                                            const Graph& other) const {
  std::vector<TensorId> values;
  for (const auto& port : graph_.table.inputs) values.push_back(port->tensor);
  for (const TensorId input : graph_.table.operators[i]->inputs)
    if (!graph_.is_constant(input)) values.push_back(input);
  size_t ended = 0;  // loops around operator k that end before operator i: their values cannot be read there
  for (size_t k = i; k-- > 0;) {
    const fbs::OperatorT& op = *graph_.table.operators[k];
    if (op.params.AsLoopBegin() && ended > 0)
      --ended;
    else if (ended == 0)
      values.push_back(op.outputs.front());
    if (op.params.AsLoopEnd()) ++ended;
  }
  constexpr int32_t kMaxDivisor = 32;
  for (int32_t divisor = 1; divisor <= kMaxDivisor; ++divisor)
    for (const TensorId value : values) {
      Source source{value, {}};
      for (const int wanted : dims)
        if (const std::optional<SizeCode> size = size_in(value, divisor, tensor, wanted, other))
          source.sizes.push_back(*size);
      if (source.sizes.size() == dims.size()) return source;
    }
  return {};
}

// Rewrites sizes of operator `i`, which hold for this graph, so that they hold for `other`, too, if possible.
void Generaliser::open_sizes(size_t i, const Graph& other) {
  fbs::OperatorT& op = *graph_.table.operators[i];
  const TensorId output = op.outputs.front();
  const Shape out_a = graph_.shape(output), out_b = other.shape(output);
  std::vector<int> dims;        // output dimensions whose sizes follow another tensor
  std::vector<int32_t*> sizes;  // their sizes
  if (auto* reshape = op.params.AsReshape()) {
    for (int d = 0; d < out_a.rank; ++d) {
      int32_t& size = reshape->shape[static_cast<size_t>(d)];
      if (out_a[d] == out_b[d]) continue;
      size = copies(op, d, graph_, other) ? 0 : -1;
      if (size == 0) continue;
      dims.push_back(d);
      sizes.push_back(&size);
    }
    // One dimension can be inferred: try each one for which a tensor has the others.
    for (size_t inferred = dims.size(); inferred-- > 0;) {
      std::vector<int> rest = dims;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(inferred));
      if (inferred > 0 && !find_source(i, output, rest, other)) continue;
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(inferred));
      dims = rest;
      break;
    }
  } else if (auto* slice = op.params.AsSlice()) {
    for (int d = 0; d < out_a.rank; ++d) {
      const int32_t begin = slice->begin[static_cast<size_t>(d)];
      int32_t& size = slice->size[static_cast<size_t>(d)];
      if (size == -1 && begin == kLastElements) size = out_a[d];
      if (out_a[d] == out_b[d]) continue;
      const auto reaches_end = [&](const Graph* graph) {
        if (!graph) return true;
        const fbs::OperatorT& same = *graph->table.operators[i];
        const int32_t in = graph->shape(same.inputs.front())[d];
        return (begin < 0 ? begin + in : begin) + graph->shape(same.outputs.front())[d] == in;
      };
      if (begin != kLastElements && reaches_end(&graph_) && reaches_end(&other) && reaches_end(third_)) {
        size = -1;
      } else {
        dims.push_back(d);
        sizes.push_back(&size);
      }
    }
  } else if (auto* resize = op.params.AsResize2d()) {
    const auto open = [&](int d, int32_t* size, int32_t* scale) {
      if (out_a[d] == out_b[d]) return;
      if (const int32_t factor = scale_of(op, d, other)) {
        *size = 0;
        *scale = factor;
      } else {
        dims.push_back(d);
        sizes.push_back(size);
      }
    };
    open(1, &resize->height, &resize->scale_h);
    open(2, &resize->width, &resize->scale_w);
  } else if (auto* reverse = op.params.AsWindowReverse()) {
    dims = {1, 2};
    sizes = {&reverse->height, &reverse->width};
  }
  const std::optional<Source> source = dims.empty() ? std::nullopt : find_source(i, output, dims, other);
  if (!source) return;
  op.inputs.push_back(source->tensor);
  for (size_t k = 0; k < sizes.size(); ++k) *sizes[k] = source->sizes[k].encode();
}

// Lets a pad reach the next multiple, if that is what its sizes have in common.
void Generaliser::open_padding(size_t i, const Graph& other) {
  const fbs::OperatorT& op = *graph_.table.operators[i];
  if (!op.params.AsPad() || op.params.AsPad()->multiple.empty()) return;
  fbs::PadT& pad = *graph_.table.operators[i]->params.AsPad();
  for (int d = 0; d < graph_.shape(op.outputs.front()).rank; ++d) {
    const auto at = static_cast<size_t>(d);
    const auto differs = [&](const Graph* graph) {
      return graph && graph->table.operators[i]->params.AsPad()->after[at] != pad.after[at];
    };
    if (!differs(&other) && !differs(third_)) continue;
    const auto fits = [&](const Graph* graph, int32_t multiple) {
      if (!graph) return true;
      const int32_t size = graph->shape(op.inputs.front())[d] + pad.before[at];
      return (size + multiple - 1) / multiple * multiple == graph->shape(op.outputs.front())[d];
    };
    for (int32_t multiple = graph_.shape(op.outputs.front())[d]; multiple > 1 && pad.multiple[at] == 1; --multiple)
      if (fits(&graph_, multiple) && fits(&other, multiple) && fits(third_, multiple)) pad.multiple[at] = multiple;
    if (pad.multiple[at] > 1) pad.after[at] = 0;
  }
}

// Lets a slice begin at a place from the end, if that is one for both sizes (the last element), or take the last
// elements, if both end at the end.
void Generaliser::open_begin(size_t i, const Graph& other) {
  fbs::SliceT* slice = graph_.table.operators[i]->params.AsSlice();
  const fbs::SliceT* same = other.table.operators[i]->params.AsSlice();
  if (!slice || !same || slice->begin.size() != same->begin.size()) return;
  const fbs::OperatorT& op = *graph_.table.operators[i];
  const Shape a = graph_.shape(op.inputs.front()), b = other.shape(op.inputs.front());
  const Shape to_a = graph_.shape(op.outputs.front()), to_b = other.shape(op.outputs.front());
  for (int d = 0; d < a.rank; ++d) {
    int32_t& begin = slice->begin[static_cast<size_t>(d)];
    const int32_t theirs = same->begin[static_cast<size_t>(d)];
    if (begin < 0 || begin == theirs) continue;
    if (begin - a[d] == theirs - b[d])
      begin -= a[d];
    else if (begin + to_a[d] == a[d] && theirs + to_b[d] == b[d])
      begin = kLastElements;
  }
}

void Generaliser::include_operator(size_t i, const Graph& other) {
  open_begin(i, other);
  fbs::OperatorT& op = *graph_.table.operators[i];
  const fbs::OperatorT& same = *other.table.operators[i];
  if (!alike_but_for_sizes(op, at_begins_of(op, same, other.shape(same.inputs.front()))))
    return give_reason(op, "its parameters depend on an open size");
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const bool constant = graph_.is_constant(op.inputs[k]);
    if (constant != other.is_constant(op.inputs[k])) return give_reason(op, "it is supported for one size only");
    if (constant && !same_constant(graph_, other, op.inputs[k])) include_constant(i, k, other);
  }
  open_padding(i, other);
  if (outputs_shape(op, other)) return;
  open_sizes(i, other);
  const TensorId output = op.outputs.front();
  if (!outputs_shape(op, other) || !outputs_shape(op, graph_))
    give_reason(op, "it gives " + to_string(graph_.shape(output)) + " for one size, " + to_string(other.shape(output)) +
                        " for another, which its parameters cannot express for both");
}

void Generaliser::include_constant(size_t i, size_t input, const Graph& other) {
  const fbs::OperatorT& op = *graph_.table.operators[i];
  const TensorId tensor = op.inputs[input];
  const Shape a = graph_.shape(tensor), b = other.shape(tensor);
  std::vector<int> along = repeat_[tensor];
  for (int d = 0; d < a.rank && a.rank == b.rank; ++d)
    if (a[d] != b[d] && std::find(along.begin(), along.end(), d) == along.end()) along.push_back(d);
  std::sort(along.begin(), along.end());
  // Dimensions along which all values are equal are stored once; the others grow.
  std::vector<int> alike, growing;
  for (const int d : along) {
    const bool repeats =
        hold_once(graph_.values(tensor), a, {d}).alike && hold_once(other.values(tensor), b, {d}).alike;
    (repeats ? alike : growing).push_back(d);
  }
  const Unrepeated mine = hold_once(graph_.values(tensor), a, alike),
                   theirs = hold_once(other.values(tensor), b, alike);
  const bool once = accepts_unrepeated(op, input, alike, graph_) && is_leading_part(theirs, mine);
  if (once && !along.empty() && growing.empty()) {
    repeat_[tensor] = along;
    return;
  }
  if (is_initial_state(op, input) && growing.empty() && !along.empty() && is_leading_part(theirs, mine)) {
    if (const std::optional<Source> source = find_source(i, tensor, along, other)) {
      spread_[tensor] = {along, *source};
      return;
    }
  }
  repeat_.erase(tensor);
  const std::optional<Source> source = find_source(i, tensor, growing, other);
  const bool cuttable = alike.empty() ? is_leading_part(theirs, mine) : once;
  if (cuttable && !growing.empty() && source && accepts_computed(op, input))
    tables_[tensor] = {alike, growing, *source, TensorId::None};
  else
    give_reason(op,
                "its constant '" + graph_.at(tensor).name + "' of shape " + to_string(a) + " depends on an open size");
}

std::vector<Shape> Generaliser::table_shapes(const Graph& other) const {
  std::vector<Shape> shapes;
  for (const auto& [tensor, table] : tables_) {
    shapes.push_back(other.shape(tensor));
    for (const int d : table.alike) shapes.back()[d] = 1;
  }
  return shapes;
}

void Generaliser::lengthen_tables(const Graph& largest) {
  if (!same_operators(largest)) return;
  std::vector<TensorId> wholes;  // equal tables are one
  for (auto& [tensor, table] : tables_) {
    const auto reads = [&, wanted = tensor](const auto& op) {
      return std::find(op->inputs.begin(), op->inputs.end(), wanted) != op->inputs.end();
    };
    const Unrepeated part = hold_once(graph_.values(tensor), graph_.shape(tensor), table.alike);
    Unrepeated whole;
    if (largest.is_constant(tensor) && largest.shape(tensor).rank == part.shape.rank)
      whole = hold_once(largest.values(tensor), largest.shape(tensor), table.alike);
    const auto& ops = graph_.table.operators;
    if (!whole.values.empty() && whole.alike && is_leading_part(whole, part))
      table.whole = whole_table(tensor, whole.shape, whole.values, &wholes);
    else
      give_reason(**std::find_if(ops.begin(), ops.end(), reads),
                  "its constant '" + graph_.at(tensor).name + "' is of another kind for a large open size");
  }
}

// The constant with these values: one of `wholes`, or a new one.
TensorId Generaliser::whole_table(TensorId tensor, const Shape& shape, const std::vector<double>& values,
                                  std::vector<TensorId>* wholes) {
  for (const TensorId whole : *wholes)
    if (graph_.shape(whole) == shape && graph_.dtype(whole) == graph_.dtype(tensor) && graph_.values(whole) == values)
      return whole;
  wholes->push_back(add_alike(tensor, shape, values));
  return wholes->back();
}

// Slices the table to the size of its source.
Tensor Generaliser::cut(const std::string& name, TensorId tensor) {
  const Table& table = tables_.at(tensor);
  const Tensor whole{&graph_, table.whole};
  fbs::SliceT slice;
  slice.begin.assign(static_cast<size_t>(whole.shape().rank), 0);
  slice.size.assign(slice.begin.size(), -1);
  for (size_t k = 0; k < table.growing.size(); ++k)
    slice.size[static_cast<size_t>(table.growing[k])] = table.source.sizes[k].encode();
  return graph_.add_op(name, slice, {whole, {&graph_, table.source.tensor}});
}

void Generaliser::check(const Graph& other) {
  if (!same_operators(other)) return;
  const size_t before = reasons_.size();
  std::map<TensorId, Shape> shapes;
  for (const auto& port : other.table.inputs) shapes[port->tensor] = other.shape(port->tensor);
  for (size_t i = 0; i < graph_.table.operators.size(); ++i) {
    const fbs::OperatorT& op = *graph_.table.operators[i];
    std::vector<Shape> inputs;
    for (const TensorId input : op.inputs)
      inputs.push_back(graph_.is_constant(input) ? other.shape(input) : shapes.at(input));
    std::vector<Shape> outputs(op.outputs.size());
    const SerializedOp serialized(op);
    if (!infer_shapes(*serialized, inputs, graph_.state_shapes(), outputs).ok()) {
      reasons_.resize(before);
      return;
    }
    for (size_t k = 0; k < outputs.size(); ++k) shapes[op.outputs[k]] = outputs[k];
    const auto differs = [&](size_t k) { return outputs[k] != other.shape(op.outputs[k]); };
    std::vector<size_t> places(outputs.size());
    std::iota(places.begin(), places.end(), size_t{0});
    if (!alike_but_for_sizes(op, at_begins_of(op, *other.table.operators[i], inputs.front())) ||
        std::any_of(places.begin(), places.end(), differs))
      give_reason(op, "its result depends on the remainder of a division of an open size");
  }
}

// Adds a constant with the name and type of another one.
TensorId Generaliser::add_alike(TensorId tensor, const Shape& shape, const std::vector<double>& values) {
  const std::string name = graph_.at(tensor).name;
  if (graph_.at(tensor).dtype != fbs::DType::Int32) return graph_.add_constant(name, shape, values).id;
  return graph_.add_constant(name, shape, std::vector<int32_t>(values.begin(), values.end())).id;
}

// The constant without repetitions.
Tensor Generaliser::once(TensorId tensor) {
  if (!once_.contains(tensor)) {
    const auto spread = spread_.find(tensor);
    const std::vector<int>& along = spread != spread_.end() ? spread->second.alike : repeat_.at(tensor);
    const Unrepeated held = hold_once(graph_.values(tensor), graph_.shape(tensor), along);
    once_[tensor] = add_alike(tensor, held.shape, held.values);
  }
  return {&graph_, once_.at(tensor)};
}

// Repeats a constant to the sizes of `like`, except along `axis`, as inputs of Concat need.
Tensor Generaliser::repeated(const std::string& name, TensorId tensor, Tensor like, int axis) {
  const size_t rank = static_cast<size_t>(like.shape().rank);
  fbs::SliceT slice;
  slice.begin.assign(rank, 0);
  slice.size.assign(rank, -1);
  slice.size[static_cast<size_t>(axis)] = 1;
  const Tensor zero = graph_.add_constant(name + ".zero", Shape{1}, std::vector<float>{0});
  const Tensor row = graph_.add_op(name, slice, {like});
  fbs::BinaryT mul, add;
  mul.kind = fbs::BinaryKind::Mul;
  add.kind = fbs::BinaryKind::Add;
  return graph_.add_op(name, add, {graph_.add_op(name, mul, {row, zero}), once(tensor)});
}

// Repeats a constant to sizes of another tensor, by a selection between it and itself under flags of these sizes.
Tensor Generaliser::spread(const std::string& name, TensorId tensor) {
  const Spread& how = spread_.at(tensor);
  const Tensor like{&graph_, how.source.tensor};
  fbs::SliceT slice;
  slice.begin.assign(static_cast<size_t>(like.shape().rank), 0);
  slice.size.assign(slice.begin.size(), 1);
  fbs::ReshapeT reshape;
  reshape.shape.assign(static_cast<size_t>(graph_.shape(tensor).rank), 1);
  for (size_t k = 0; k < how.alike.size(); ++k) {
    slice.size[static_cast<size_t>(how.source.sizes[k].dim)] = how.source.sizes[k].encode();
    reshape.shape[static_cast<size_t>(how.alike[k])] = how.source.sizes[k].encode();
  }
  const Tensor part = graph_.add_op(name, slice, {like, like});
  fbs::BinaryT equal;
  equal.kind = fbs::BinaryKind::Equal;
  const Tensor flags = graph_.add_op(name, equal, {part, part});
  const Tensor placed = graph_.add_op(name, reshape, {flags, like});
  const Tensor value = once(tensor);
  return graph_.add_op(name, fbs::SelectT(), {placed, value, value});
}

void Generaliser::finish(const std::vector<Shape>& inputs) {
  auto& model = graph_.table;
  std::vector<std::unique_ptr<fbs::OperatorT>> operators;
  operators.swap(model.operators);
  std::map<TensorId, TensorId> extents;  // of loops, by the index
  for (auto& op : operators) {
    const auto activation =
        std::find_if(op->inputs.begin(), op->inputs.end(), [&](TensorId input) { return !graph_.is_constant(input); });
    const Tensor like{&graph_, activation == op->inputs.end() ? TensorId::None : *activation};
    for (TensorId& input : op->inputs) {
      if (spread_.contains(input)) input = spread(op->name, input).id;
      if (tables_.contains(input)) input = cut(op->name, input).id;
      if (!repeat_.contains(input)) continue;
      const auto* concat = op->params.AsConcat();
      input = concat ? repeated(op->name, input, like, concat->axis).id : once(input).id;
    }
    if (op->params.AsLoopBegin()) extents[op->outputs.front()] = op->inputs[LoopBeginInputs::kExtent];
    if (op->params.AsLoopEnd()) op->inputs[LoopEndInputs::kExtent] = extents.at(op->inputs[LoopEndInputs::kIndex]);
    model.operators.push_back(std::move(op));
  }
  const auto set_shape = [&](TensorId tensor, const Shape& shape) {
    graph_.at(tensor).shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  };
  for (const auto& op : model.operators)  // what the importer let be generalised, and is the same for all sizes
    if (auto* pad = op->params.AsPad();
        pad && std::all_of(pad->multiple.begin(), pad->multiple.end(), [](int32_t multiple) { return multiple == 1; }))
      pad->multiple.clear();
  for (size_t i = 0; i < inputs.size(); ++i) set_shape(model.inputs[i]->tensor, inputs[i]);
  for (const auto& op : model.operators) {
    std::vector<Shape> outputs(op->outputs.size());
    const SerializedOp serialized(*op);
    const Status status = infer_shapes(*serialized, input_shapes(*op, graph_), graph_.state_shapes(), outputs);
    if (!status.ok()) fail("'%s': %s", op->name.c_str(), status.message().data());
    for (size_t k = 0; k < outputs.size(); ++k) set_shape(op->outputs[k], outputs[k]);
  }
  remove_dead_code(graph_, {});
  hoist_from_loops(graph_, {});
}

}  // namespace ferry::onnx
