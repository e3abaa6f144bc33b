#include "converter/onnx/generalise.h"

#include <algorithm>
#include <ranges>

#include "converter/passes/passes.h"
#include "sdk/graph/shape_rules.h"

namespace ferry::onnx {
namespace {

std::unique_ptr<fbs::OperatorT> copy_of(const fbs::OperatorT& op) { return std::make_unique<fbs::OperatorT>(op); }

// Parameters that only say how large the output is.
void forget_sizes(fbs::OperatorT& op) {
  if (auto* reshape = op.params.AsReshape()) reshape->shape.clear();
  if (auto* slice = op.params.AsSlice()) slice->size.clear();
  if (auto* resize = op.params.AsResize2d()) resize->scale_h = resize->scale_w = resize->height = resize->width = 1;
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

std::vector<Shape> input_shapes(const fbs::OperatorT& op, const Graph& graph) {
  std::vector<Shape> shapes;
  for (const int input : op.inputs) shapes.push_back(graph.shape(input));
  return shapes;
}

// Whether `op` gives this shape in `graph`, which has the same tensors in other sizes.
bool gives(const fbs::OperatorT& op, const Graph& graph) {
  Shape shape;
  const SerializedOp serialized(op);
  return infer_shape(*serialized, input_shapes(op, graph), &shape).ok() && shape == graph.shape(op.outputs.front());
}

// Whether dimension `i` is the same in `op`'s input and output, in both graphs.
bool copies(const fbs::OperatorT& op, int i, const Graph& a, const Graph& b) {
  for (const Graph* graph : {&a, &b}) {
    const Shape in = graph->shape(op.inputs.front()), out = graph->shape(op.outputs.front());
    if (i >= in.rank || in[i] != out[i]) return false;
  }
  return true;
}

// How often the input's dimension fits into the output's, in both graphs; 0 where that differs.
int32_t scale_of(const fbs::OperatorT& op, int dim, const Graph& a, const Graph& b) {
  int32_t scale = 0;
  for (const Graph* graph : {&a, &b}) {
    const int32_t in = graph->shape(op.inputs.front())[dim], out = graph->shape(op.outputs.front())[dim];
    if (out % in != 0 || (scale != 0 && scale != out / in)) return 0;
    scale = out / in;
  }
  return scale;
}

// Sizes of `op`, which has them for graph `a`, are written so that they hold for `b`, too, where that can be.
void open_sizes(fbs::OperatorT& op, const Graph& a, const Graph& b) {
  const Shape in_a = a.shape(op.inputs.front()), out_a = a.shape(op.outputs.front());
  const Shape in_b = b.shape(op.inputs.front()), out_b = b.shape(op.outputs.front());
  if (auto* reshape = op.params.AsReshape()) {
    for (int i = 0; i < out_a.rank; ++i) {
      int32_t& size = reshape->shape[static_cast<size_t>(i)];
      if (out_a[i] != out_b[i]) size = copies(op, i, a, b) ? 0 : -1;
    }
  } else if (auto* slice = op.params.AsSlice()) {
    for (int i = 0; i < out_a.rank; ++i) {
      const int32_t begin = slice->begin[static_cast<size_t>(i)];
      if (out_a[i] != out_b[i] && begin + out_a[i] == in_a[i] && begin + out_b[i] == in_b[i])
        slice->size[static_cast<size_t>(i)] = -1;
    }
  } else if (auto* resize = op.params.AsResize2d()) {
    const auto open = [&](int dim, int32_t* size, int32_t* scale) {
      const int32_t factor = scale_of(op, dim, a, b);
      if (out_a[dim] == out_b[dim] || factor == 0) return;
      *size = 0;
      *scale = factor;
    };
    open(1, &resize->height, &resize->scale_h);
    open(2, &resize->width, &resize->scale_w);
  }
}

// An array whose places along some dimensions are alike, with those dimensions of size 1.
struct Once {
  Shape shape;
  std::vector<double> values;
  bool alike = true;  // else places differ, and `values` are the first
};

Once hold_once(const std::vector<double>& values, const Shape& shape, const std::vector<int>& along) {
  Once once{.shape = shape};
  for (const int i : along) once.shape[i] = 1;
  once.values.resize(static_cast<size_t>(once.shape.elements()));
  std::vector<bool> known(once.values.size());
  for (size_t element = 0; element < values.size(); ++element) {
    size_t rest = element, place = 0, stride = 1;
    for (int i = shape.rank - 1; i >= 0; --i) {
      const size_t size = static_cast<size_t>(shape[i]);
      if (once.shape[i] == shape[i]) {
        place += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    if (!known[place]) once.values[place] = values[element];
    known[place] = true;
    once.alike = once.alike && once.values[place] == values[element];
  }
  return once;
}

bool same_constant(const Graph& a, const Graph& b, int tensor) {
  const auto x = a.constant(tensor).bytes, y = b.constant(tensor).bytes;
  return a.at(tensor).dtype == b.at(tensor).dtype && a.shape(tensor) == b.shape(tensor) && std::ranges::equal(x, y);
}

// Whether an input that repeats itself along these dimensions may have size 1 there.
bool takes_once(const fbs::OperatorT& op, size_t input, const std::vector<int>& along) {
  if (op.params.AsBinary()) return true;
  if (const auto* concat = op.params.AsConcat())
    return std::find(along.begin(), along.end(), concat->axis) == along.end();
  return op.params.AsAttention() && input >= 3 && along == std::vector<int>{0};
}

}  // namespace

void Generaliser::give_reason(const fbs::OperatorT& op, const std::string& what) {
  if (named_.insert(op.name).second) reasons_.push_back({op_name(op.params.type), op.name, opset_, what});
}

// Whether both have the same number of operators and of tensors, which passes number alike then.
bool Generaliser::same_operators(const Graph& other) {
  const size_t mine = graph_.model.operators.size(), theirs = other.model.operators.size();
  if (mine == theirs && graph_.model.tensors.size() == other.model.tensors.size()) return true;
  reasons_.push_back({"", "", opset_,
                      "the open sizes decide which operators there are: " + std::to_string(mine) + " for one size, " +
                          std::to_string(theirs) + " for another"});
  return false;
}

void Generaliser::include(const Graph& other) {
  if (!same_operators(other)) return;
  for (size_t i = 0; i < graph_.model.operators.size(); ++i)
    include_operator(*graph_.model.operators[i], *other.model.operators[i], other);
}

void Generaliser::include_operator(fbs::OperatorT& op, const fbs::OperatorT& same, const Graph& other) {
  if (!alike_but_for_sizes(op, same)) return give_reason(op, "its parameters depend on an open size");
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool constant = graph_.is_constant(op.inputs[i]);
    if (constant != other.is_constant(op.inputs[i])) return give_reason(op, "it is computed for one size only");
    if (constant && !same_constant(graph_, other, op.inputs[i])) include_constant(op, i, other);
  }
  if (gives(op, other)) return;
  open_sizes(op, graph_, other);
  const int output = op.outputs.front();
  if (!gives(op, other) || !gives(op, graph_))
    give_reason(op, "it gives " + to_string(graph_.shape(output)) + " for one size, " + to_string(other.shape(output)) +
                        " for another, which its parameters cannot say at once");
}

void Generaliser::include_constant(const fbs::OperatorT& op, size_t input, const Graph& other) {
  const int tensor = op.inputs[input];
  const Shape a = graph_.shape(tensor), b = other.shape(tensor);
  std::vector<int> along = repeat_[tensor];
  for (int i = 0; i < a.rank && a.rank == b.rank; ++i)
    if (a[i] != b[i] && std::find(along.begin(), along.end(), i) == along.end()) along.push_back(i);
  std::sort(along.begin(), along.end());
  const Once mine = hold_once(graph_.values(tensor), a, along), theirs = hold_once(other.values(tensor), b, along);
  if (!mine.alike || !theirs.alike || mine.shape != theirs.shape || mine.values != theirs.values ||
      !takes_once(op, input, along))
    return give_reason(
        op, "its constant '" + graph_.at(tensor).name + "' of shape " + to_string(a) + " depends on an open size");
  repeat_[tensor] = along;
}

void Generaliser::check(const Graph& other) {
  if (!same_operators(other)) return;
  const size_t before = reasons_.size();
  std::map<int, Shape> shapes;
  for (const auto& port : other.model.inputs)
    shapes[static_cast<int>(port->tensor)] = other.shape(static_cast<int>(port->tensor));
  for (size_t i = 0; i < graph_.model.operators.size(); ++i) {
    const fbs::OperatorT& op = *graph_.model.operators[i];
    std::vector<Shape> inputs;
    for (const int input : op.inputs)
      inputs.push_back(graph_.is_constant(input) ? other.shape(input) : shapes.at(input));
    Shape& shape = shapes[op.outputs.front()];
    const SerializedOp serialized(op);
    if (!infer_shape(*serialized, inputs, &shape).ok()) {
      reasons_.resize(before);
      return;
    }
    if (!alike_but_for_sizes(op, *other.model.operators[i]) || shape != other.shape(op.outputs.front()))
      give_reason(op, "what it does depends on what is left over when an open size is divided");
  }
}

// The constant without its repetitions.
Tensor Generaliser::once(int tensor) {
  if (!once_.contains(tensor)) {
    const Once held = hold_once(graph_.values(tensor), graph_.shape(tensor), repeat_.at(tensor));
    once_[tensor] = graph_.add_constant(graph_.at(tensor).name, held.shape, held.values).index;
  }
  return {&graph_, once_.at(tensor)};
}

// As many copies of a constant as the inputs of a concat need, whose sizes are those of `like` but along `axis`.
Tensor Generaliser::repeated(const std::string& name, int tensor, Tensor like, int axis) {
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

void Generaliser::finish(const std::vector<Shape>& inputs) {
  auto& model = graph_.model;
  std::vector<std::unique_ptr<fbs::OperatorT>> operators;
  operators.swap(model.operators);
  for (auto& op : operators) {
    const auto activation =
        std::find_if(op->inputs.begin(), op->inputs.end(), [&](int input) { return !graph_.is_constant(input); });
    const Tensor like{&graph_, activation == op->inputs.end() ? -1 : *activation};
    for (int& input : op->inputs) {
      if (!repeat_.contains(input)) continue;
      const auto* concat = op->params.AsConcat();
      input = concat ? repeated(op->name, input, like, concat->axis).index : once(input).index;
    }
    model.operators.push_back(std::move(op));
  }
  const auto set_shape = [&](int tensor, const Shape& shape) {
    graph_.at(tensor).shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  };
  for (size_t i = 0; i < inputs.size(); ++i) set_shape(static_cast<int>(model.inputs[i]->tensor), inputs[i]);
  for (const auto& op : model.operators) {
    Shape shape;
    const SerializedOp serialized(*op);
    if (const Status status = infer_shape(*serialized, input_shapes(*op, graph_), &shape); !status.ok())
      fail("'%s': %s", op->name.c_str(), status.message().c_str());
    set_shape(op->outputs.front(), shape);
  }
  remove_dead_code(graph_, {});
}

}  // namespace ferry::onnx
