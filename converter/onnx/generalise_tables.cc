// Constants of a graph that is generalised.
#include <algorithm>

#include "converter/onnx/generalise.h"
#include "converter/onnx/unrepeated.h"
#include "sdk/operators/loops.h"

namespace ferry::onnx {
namespace {

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

// The table with `size` elements along dimension `dim`, in which it goes on as its first two elements do.
Unrepeated continued(const Unrepeated& table, int dim, int32_t size) {
  Unrepeated longer{.shape = table.shape, .values = {}};
  longer.shape[dim] = size;
  size_t inner = 1;
  for (int d = dim + 1; d < table.shape.rank; ++d) inner *= static_cast<size_t>(table.shape[d]);
  longer.values.resize(static_cast<size_t>(longer.shape.elements()));
  for (size_t element = 0; element < longer.values.size(); ++element) {
    const size_t row = element / inner, i = row % static_cast<size_t>(size);
    const size_t first =
        row / static_cast<size_t>(size) * static_cast<size_t>(table.shape[dim]) * inner + element % inner;
    const double step = table.values[first + inner] - table.values[first];
    longer.values[element] = table.values[first] + static_cast<double>(i) * step;
  }
  return longer;
}

// Whether it is an arithmetic progression along its only growing dimension.
bool is_progression(const Unrepeated& table, const std::vector<int>& growing) {
  if (growing.size() != 1 || table.shape[growing[0]] < 3) return false;
  return continued(table, growing[0], table.shape[growing[0]]).values == table.values;
}

}  // namespace

// Finds out how the blob holds input `input` of operator `i`, a constant that differs between the sizes: dimensions
// along which all values are equal once, the others as long as the longest.
void Generaliser::include_constant(size_t i, size_t input) {
  const fbs::OperatorT& op = *graph_.table.operators[i];
  const TensorId tensor = op.inputs[input];
  const Shape shape = graph_.shape(tensor);
  const auto once_in = [&](const Graph& graph, const std::vector<int>& along) {
    return hold_once(graph.values(tensor), graph.shape(tensor), along);
  };
  Table table;
  for (int d = 0; d < shape.rank; ++d) {
    if (everywhere([&](const Graph& graph) {
          return graph.shape(tensor).rank != shape.rank || graph.shape(tensor)[d] == shape[d];
        }))
      continue;
    const bool repeats = everywhere([&](const Graph& graph) { return once_in(graph, {d}).alike; });
    (repeats ? table.alike : table.growing).push_back(d);
  }
  const Unrepeated mine = once_in(graph_, table.alike);
  const bool nested = everywhere([&](const Graph& graph) {
    const Unrepeated theirs = once_in(graph, table.alike);
    return is_leading_part(theirs, mine) || is_leading_part(mine, theirs);
  });
  const bool varies = !table.alike.empty() || !table.growing.empty();
  const bool once = accepts_unrepeated(op, input, table.alike, graph_);
  if (nested && varies && once && table.growing.empty()) {
    repeat_[tensor] = table.alike;
    return;
  }
  const bool computes = accepts_computed(op, input) || computed_.contains(tensor);
  const bool repeats_in_run = !once || op.params.AsConcat();
  const bool grows = grids_ || table.growing.size() < 2;
  if (nested && varies && computes && grows && find_sources(i, tensor, repeats_in_run, &table)) {
    table.progression =
        everywhere([&](const Graph& graph) { return is_progression(once_in(graph, table.alike), table.growing); });
    tables_[tensor] = table;
    return;
  }
  give_reason(
      op, "its constant '" + graph_.at(tensor).name + "' of shape " + to_string(shape) + " depends on an open size");
}

// Finds what determines the sizes of a table. If a run must repeat it and nothing says how often, it grows.
bool Generaliser::find_sources(size_t i, TensorId tensor, bool repeats_in_run, Table* table) const {
  for (size_t k = 0; repeats_in_run && k < table->alike.size(); ++k) {
    if (const auto repeats = find_source(i, tensor, {table->alike[k]})) {
      table->repeats.push_back(*repeats);
      continue;
    }
    table->repeats.clear();
    table->growing.insert(table->growing.end(), table->alike.begin(), table->alike.end());
    table->alike.clear();
  }
  if (table->growing.empty()) return true;
  constexpr int32_t kMaxLeft = 64;
  std::optional<Source> source = find_source(i, tensor, table->growing);
  if (!source) source = find_source(i, tensor, table->growing, kMaxLeft);
  if (source) table->source = *source;
  return source.has_value();
}

// Whether the longest version is what an import gives.
bool Generaliser::needs_graph(const Table& table) { return !table.growing.empty() && !table.progression; }

bool Generaliser::has_tables() const {
  return std::any_of(tables_.begin(), tables_.end(), [](const auto& table) { return needs_graph(table.second); });
}

std::vector<Shape> Generaliser::table_shapes(const Graph& other) const {
  std::vector<Shape> shapes;
  for (const auto& [tensor, table] : tables_) {
    if (!needs_graph(table)) continue;
    shapes.push_back(other.shape(tensor));
    for (const int d : table.alike) shapes.back()[d] = 1;
  }
  return shapes;
}

void Generaliser::lengthen_tables(const Graph& largest) {
  if (!same_operators(largest)) return;
  for (auto& [tensor, table] : tables_) {
    if (!needs_graph(table)) continue;
    const auto reads = [&, wanted = tensor](const auto& op) {
      return std::find(op->inputs.begin(), op->inputs.end(), wanted) != op->inputs.end();
    };
    const Unrepeated part = hold_once(graph_.values(tensor), graph_.shape(tensor), table.alike);
    Unrepeated whole;
    if (largest.is_constant(tensor) && largest.shape(tensor).rank == part.shape.rank)
      whole = hold_once(largest.values(tensor), largest.shape(tensor), table.alike);
    const auto& ops = graph_.table.operators;
    if (!whole.values.empty() && whole.alike && is_leading_part(whole, part))
      table.whole = whole_table(tensor, whole.shape, whole.values);
    else
      give_reason(**std::find_if(ops.begin(), ops.end(), reads),
                  "its constant '" + graph_.at(tensor).name + "' is of another kind for a large open size");
  }
}

void Generaliser::lengthen_progressions() {
  constexpr int32_t kLongest = 8192;
  for (auto& [tensor, table] : tables_) {
    if (!table.progression) continue;
    const Unrepeated part = hold_once(graph_.values(tensor), graph_.shape(tensor), table.alike);
    const int dim = table.growing[0];
    const Unrepeated whole = continued(part, dim, std::max(kLongest, 2 * part.shape[dim]));
    table.whole = whole_table(tensor, whole.shape, whole.values);
  }
}

// The constant with these values: an earlier one, or a new one.
TensorId Generaliser::whole_table(TensorId tensor, const Shape& shape, const std::vector<double>& values) {
  for (const TensorId whole : wholes_)
    if (graph_.shape(whole) == shape && graph_.dtype(whole) == graph_.dtype(tensor) && graph_.values(whole) == values)
      return whole;
  wholes_.push_back(add_alike(graph_, tensor, shape, values));
  return wholes_.back();
}

// The table as a run has it: sliced to the size of its source, and repeated.
Tensor Generaliser::in_run(const std::string& name, TensorId tensor) {
  const Table& table = tables_.at(tensor);
  Tensor value = table.growing.empty() ? once(tensor, table.alike) : cut(name, table);
  for (size_t k = 0; k < table.repeats.size(); ++k) value = repeated_to(name, value, table.alike[k], table.repeats[k]);
  return value;
}

Tensor Generaliser::cut(const std::string& name, const Table& table) {
  const Tensor whole{&graph_, table.whole};
  fbs::SliceT slice;
  slice.begin.assign(static_cast<size_t>(whole.shape().rank), 0);
  slice.size.assign(slice.begin.size(), -1);
  fbs::SliceT less = slice;
  for (size_t k = 0; k < table.growing.size(); ++k) {
    slice.size[static_cast<size_t>(table.growing[k])] = table.source.sizes[k].encode();
    less.size[static_cast<size_t>(table.growing[k])] = all_but(table.source.left[k]);
  }
  const Tensor part = graph_.add_op(name, slice, {whole, {&graph_, table.source.tensor}});
  const bool is_whole =
      std::all_of(table.source.left.begin(), table.source.left.end(), [](int32_t n) { return n == 0; });
  return is_whole ? part : graph_.add_op(name, less, {part});
}

// The shape of a constant where values have these `shapes`, and the same constant that of `other`.
Shape Generaliser::shape_at(const fbs::OperatorT& op, TensorId constant, const Graph& other,
                            const std::map<TensorId, Shape>& shapes) const {
  Shape shape = other.shape(constant);
  if (const auto table = tables_.find(constant); table != tables_.end()) {
    for (const int d : table->second.alike) shape[d] = 1;
    for (size_t k = 0; k < table->second.repeats.size(); ++k) {
      const Source& source = table->second.repeats[k];
      shape[table->second.alike[k]] = source.sizes[0].of(shapes.at(source.tensor)[source.sizes[0].dim]);
    }
    for (size_t k = 0; k < table->second.growing.size(); ++k) {
      const SizeCode& size = table->second.source.sizes[k];
      const int32_t part = size.of(shapes.at(table->second.source.tensor)[size.dim]);
      shape[table->second.growing[k]] = part - table->second.source.left[k];
    }
  } else if (const auto repeats = repeat_.find(constant); repeats != repeat_.end() && !op.params.AsConcat()) {
    for (const int d : repeats->second) shape[d] = 1;
  }
  return shape;
}

TensorId add_alike(Graph& graph, TensorId tensor, const Shape& shape, const std::vector<double>& values) {
  const std::string name = graph.at(tensor).name;
  if (graph.at(tensor).dtype != fbs::DType::Int32) return graph.add_constant(name, shape, values).id;
  return graph.add_constant(name, shape, std::vector<int32_t>(values.begin(), values.end())).id;
}

// The constant without repetitions.
Tensor Generaliser::once(TensorId tensor, const std::vector<int>& along) {
  if (!once_.contains(tensor)) {
    const Unrepeated held = hold_once(graph_.values(tensor), graph_.shape(tensor), along);
    once_[tensor] = add_alike(graph_, tensor, held.shape, held.values);
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
  const Tensor zero{&graph_, add_alike(graph_, tensor, Shape{1}, {0})};
  const Tensor row = graph_.add_op(name, slice, {like});
  fbs::BinaryT mul, add;
  mul.kind = fbs::BinaryKind::Mul;
  add.kind = fbs::BinaryKind::Add;
  return graph_.add_op(name, add, {graph_.add_op(name, mul, {row, zero}), once(tensor, repeat_.at(tensor))});
}

// Repeats a value along dimension `dim` to a size of another tensor, by a selection between it and itself under flags
// of that size.
Tensor Generaliser::repeated_to(const std::string& name, Tensor value, int dim, const Source& source) {
  const Tensor like{&graph_, source.tensor};
  const SizeCode& size = source.sizes[0];
  fbs::SliceT slice;
  slice.begin.assign(static_cast<size_t>(like.shape().rank), 0);
  slice.size.assign(slice.begin.size(), 1);
  slice.size[static_cast<size_t>(size.dim)] = size.encode();
  fbs::ReshapeT reshape;
  reshape.shape.assign(static_cast<size_t>(value.shape().rank), 1);
  reshape.shape[static_cast<size_t>(dim)] = size.encode();
  const Tensor part = graph_.add_op(name, slice, {like, like});
  fbs::BinaryT equal;
  equal.kind = fbs::BinaryKind::Equal;
  const Tensor flags = graph_.add_op(name, reshape, {graph_.add_op(name, equal, {part, part}), like});
  return graph_.add_op(name, fbs::SelectT(), {flags, value, value});
}

}  // namespace ferry::onnx
