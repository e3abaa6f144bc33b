#include "converter/onnx/generalise.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "converter/onnx/unrepeated.h"
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

// Whether dimension `i` of the input and the output of `op` are equal.
bool copies(const fbs::OperatorT& op, int i, const Graph& graph) {
  const Shape in = graph.shape(op.inputs.front()), out = graph.shape(op.outputs.front());
  return i < in.rank && in[i] == out[i];
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

Generaliser::Generaliser(Graph& graph, const std::vector<const Graph*>& others, int opset, std::set<TensorId> computed,
                         bool grids)
    : graph_(graph), opset_(opset), grids_(grids), computed_(std::move(computed)) {
  for (const Graph* other : others)
    if (same_operators(*other)) others_.push_back(other);
}

void Generaliser::include() {
  for (size_t i = 0; i < graph_.table.operators.size() && reasons_.empty(); ++i) include_operator(i);
}

// Ratio of the output's to the input's dimension, if equal in every graph; else 0.
int32_t Generaliser::scale_of(const fbs::OperatorT& op, int dim) const {
  int32_t scale = 0;
  const bool alike = everywhere([&](const Graph& graph) {
    const int32_t in = graph.shape(op.inputs.front())[dim], out = graph.shape(op.outputs.front())[dim];
    if (out % in != 0 || (scale != 0 && scale != out / in)) return false;
    scale = out / in;
    return true;
  });
  return alike ? scale : 0;
}

// Adds to `source` what dimension `dim` of `tensor` is in every graph: a dimension of the source divided by `divisor`,
// less at most `max_left`. False if it is none.
bool Generaliser::add_size(Source* source, int32_t divisor, int32_t max_left, TensorId tensor, int dim) const {
  for (int d = 0; d < graph_.shape(source->tensor).rank; ++d)
    for (const bool up : {false, true}) {
      const SizeCode code{d, divisor, up};
      const auto left_in = [&](const Graph& graph) {
        return code.of(graph.shape(source->tensor)[d]) - graph.shape(tensor)[dim];
      };
      const int32_t left = left_in(graph_);
      if (left < 0 || left > max_left || !everywhere([&](const Graph& graph) { return left_in(graph) == left; }))
        continue;
      source->sizes.push_back(code);
      source->left.push_back(left);
      return true;
    }
  return false;
}

// Finds a value computed before operator `i` whose dimensions equal `dims` of `tensor` in every graph, or give them
// divided by a small number, less at most `max_left`. Prefers inputs, which stay in memory anyway, then the nearest
// value.
std::optional<Generaliser::Source> Generaliser::find_source(size_t i, TensorId tensor, const std::vector<int>& dims,
                                                            int32_t max_left) const {
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
      Source source{value};
      const auto is_found = [&](int dim) { return add_size(&source, divisor, max_left, tensor, dim); };
      if (std::all_of(dims.begin(), dims.end(), is_found)) return source;
    }
  return {};
}

// Rewrites sizes of operator `i`, which hold for this graph, so that they hold for the others, too, if possible.
void Generaliser::open_sizes(size_t i) {
  fbs::OperatorT& op = *graph_.table.operators[i];
  const TensorId output = op.outputs.front();
  const Shape out = graph_.shape(output);
  const auto is_open = [&](int d) {
    return !everywhere([&](const Graph& graph) { return graph.shape(output)[d] == out[d]; });
  };
  std::vector<int> dims;        // output dimensions whose sizes follow another tensor
  std::vector<int32_t*> sizes;  // their sizes
  if (auto* reshape = op.params.AsReshape()) {
    for (int d = 0; d < out.rank; ++d) {
      int32_t& size = reshape->shape[static_cast<size_t>(d)];
      if (!is_open(d)) continue;
      size = everywhere([&](const Graph& graph) { return copies(op, d, graph); }) ? 0 : -1;
      if (size == 0) continue;
      dims.push_back(d);
      sizes.push_back(&size);
    }
    // One dimension can be inferred: try each one for which a tensor has the others.
    for (size_t inferred = dims.size(); inferred-- > 0;) {
      std::vector<int> rest = dims;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(inferred));
      if (inferred > 0 && !find_source(i, output, rest)) continue;
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(inferred));
      dims = rest;
      break;
    }
  } else if (auto* slice = op.params.AsSlice()) {
    for (int d = 0; d < out.rank; ++d) {
      const int32_t begin = slice->begin[static_cast<size_t>(d)];
      int32_t& size = slice->size[static_cast<size_t>(d)];
      if (size == -1 && begin == kLastElements) size = out[d];
      if (!is_open(d)) continue;
      const auto left_in = [&](const Graph& graph) {
        const fbs::OperatorT& same = *graph.table.operators[i];
        const int32_t in = graph.shape(same.inputs.front())[d];
        return in - (begin < 0 ? begin + in : begin) - graph.shape(same.outputs.front())[d];
      };
      const int32_t left = begin == kLastElements ? -1 : left_in(graph_);
      const bool leaves = left >= 0 && left < 1 << 24;
      if (leaves && everywhere([&](const Graph& graph) { return left_in(graph) == left; })) {
        size = left == 0 ? -1 : all_but(left);
      } else {
        dims.push_back(d);
        sizes.push_back(&size);
      }
    }
  } else if (auto* resize = op.params.AsResize2d()) {
    const auto open = [&](int d, int32_t* size, int32_t* scale) {
      if (!is_open(d)) return;
      if (const int32_t factor = scale_of(op, d)) {
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
  const std::optional<Source> source = dims.empty() ? std::nullopt : find_source(i, output, dims);
  if (!source) return;
  op.inputs.push_back(source->tensor);
  for (size_t k = 0; k < sizes.size(); ++k) *sizes[k] = source->sizes[k].encode();
}

// What a pad in dimension `d` may reach the next multiple of; empty if its sizes are the same everywhere.
std::vector<int32_t> Generaliser::multiples_of(size_t i, int d) const {
  const fbs::OperatorT& op = *graph_.table.operators[i];
  const fbs::PadT& pad = *op.params.AsPad();
  const auto at = static_cast<size_t>(d);
  std::vector<int32_t> multiples;
  if (!everywhere([&](const Graph& graph) { return alike_but_for_sizes(op, *graph.table.operators[i]); }))
    return multiples;
  if (everywhere(
          [&](const Graph& graph) { return graph.table.operators[i]->params.AsPad()->after[at] == pad.after[at]; }))
    return multiples;
  for (int32_t multiple = 2; multiple <= graph_.shape(op.outputs.front())[d]; ++multiple)
    if (everywhere([&](const Graph& graph) {
          const int32_t size = graph.shape(op.inputs.front())[d] + pad.before[at];
          return (size + multiple - 1) / multiple * multiple == graph.shape(op.outputs.front())[d];
        }))
      multiples.push_back(multiple);
  return multiples;
}

bool Generaliser::has_ambiguous_padding() const {
  for (size_t i = 0; i < graph_.table.operators.size(); ++i) {
    const fbs::PadT* pad = graph_.table.operators[i]->params.AsPad();
    for (int d = 0; pad && d < static_cast<int>(pad->multiple.size()); ++d)
      if (multiples_of(i, d).size() > 1) return true;
  }
  return false;
}

// Lets a pad reach the next multiple, if that is what its sizes have in common.
void Generaliser::open_padding(size_t i) {
  fbs::PadT* pad = graph_.table.operators[i]->params.AsPad();
  for (int d = 0; pad && d < static_cast<int>(pad->multiple.size()); ++d) {
    const std::vector<int32_t> multiples = multiples_of(i, d);
    if (multiples.size() != 1) continue;
    pad->multiple[static_cast<size_t>(d)] = multiples[0];
    pad->after[static_cast<size_t>(d)] = 0;
  }
}

// Lets a slice begin at a place from the end, if that is one for all sizes (the last element), or take the last
// elements, if all end at the end.
void Generaliser::open_begin(size_t i) {
  const fbs::OperatorT& op = *graph_.table.operators[i];
  const fbs::SliceT* given = op.params.AsSlice();
  if (!given) return;
  const auto in = [&](const Graph& graph, int d) { return graph.shape(graph.table.operators[i]->inputs.front())[d]; };
  const auto out = [&](const Graph& graph, int d) { return graph.shape(graph.table.operators[i]->outputs.front())[d]; };
  for (int d = 0; d < static_cast<int>(given->begin.size()); ++d) {
    const auto at = static_cast<size_t>(d);
    const auto begin_in = [&](const Graph& graph) {
      const fbs::SliceT* slice = graph.table.operators[i]->params.AsSlice();
      return slice && slice->begin.size() == given->begin.size() ? slice->begin[at] : INT32_MIN;
    };
    const int32_t begin = begin_in(graph_), from_end = begin - in(graph_, d);
    if (begin < 0 || everywhere([&](const Graph& graph) { return begin_in(graph) == begin; })) continue;
    int32_t& opened = graph_.table.operators[i]->params.AsSlice()->begin[at];
    if (everywhere([&](const Graph& graph) { return begin_in(graph) - in(graph, d) == from_end; }))
      opened = from_end;
    else if (everywhere([&](const Graph& graph) { return begin_in(graph) + out(graph, d) == in(graph, d); }))
      opened = kLastElements;
  }
}

void Generaliser::include_operator(size_t i) {
  open_begin(i);
  fbs::OperatorT& op = *graph_.table.operators[i];
  for (const Graph* other : others_) {
    const fbs::OperatorT& same = *other->table.operators[i];
    if (!alike_but_for_sizes(op, at_begins_of(op, same, other->shape(same.inputs.front()))))
      return give_reason(op, "its parameters depend on an open size");
  }
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const bool constant = graph_.is_constant(op.inputs[k]);
    if (!everywhere([&](const Graph& graph) { return graph.is_constant(op.inputs[k]) == constant; }))
      return give_reason(op, "it is supported for one size only");
    const auto is_same = [&](const Graph& graph) { return same_constant(graph_, graph, op.inputs[k]); };
    if (constant && !everywhere(is_same)) include_constant(i, k);
  }
  open_padding(i);
  const auto is_right = [&](const Graph& graph) { return outputs_shape(op, graph); };
  if (everywhere(is_right)) return;
  open_sizes(i);
  for (const Graph* other : others_)
    if (!is_right(*other) || !is_right(graph_))
      return give_reason(op, "it gives " + to_string(graph_.shape(op.outputs.front())) + " for one size, " +
                                 to_string(other->shape(op.outputs.front())) +
                                 " for another, which its parameters cannot express for both");
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
      inputs.push_back(graph_.is_constant(input) ? shape_at(op, input, other, shapes) : shapes.at(input));
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
      if (tables_.contains(input)) input = in_run(op->name, input).id;
      if (!repeat_.contains(input)) continue;
      const auto* concat = op->params.AsConcat();
      input = concat ? repeated(op->name, input, like, concat->axis).id : once(input, repeat_.at(input)).id;
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
    if (!status.ok())
      fail("'%s' at the sizes of --shape: %s: give larger sizes there", op->name.c_str(), status.message().data());
    for (size_t k = 0; k < outputs.size(); ++k) set_shape(op->outputs[k], outputs[k]);
  }
  fold_constants(graph_, {});  // of tables that are the same for all sizes
  remove_dead_code(graph_, {});
  hoist_from_loops(graph_, {});
}

}  // namespace ferry::onnx
