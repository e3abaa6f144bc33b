#include "converter/onnx/counted.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

using Sizes = std::vector<std::optional<Tensor>>;
using Binary = fbs::BinaryKind;

bool is_counted(const Sizes& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.has_value(); });
}

const std::optional<Tensor>& size_at(const Sizes& sizes, size_t d) {
  static const std::optional<Tensor> kKnown;
  return d < sizes.size() ? sizes[d] : kKnown;
}

Tensor integers(Graph& graph, const Dims& dims, const std::vector<int64_t>& values) {
  return add_constant(graph, "", make_array(Type::Int64, dims, values));
}

// Int32: 1 for places below the count along dimension `d` of `rank`, in a shape that broadcasts.
Tensor below_count(Tensor count, int64_t bound, size_t d, size_t rank) {
  Dims dims(rank, 1);
  dims[d] = bound;
  std::vector<int64_t> places(static_cast<size_t>(bound));
  std::iota(places.begin(), places.end(), 0);
  return binary(Binary::Less, integers(*count.graph, dims, places), count);
}

// The same for all counted dimensions; nothing if there is none.
std::optional<Tensor> valid(const Dims& dims, const Sizes& sizes) {
  std::optional<Tensor> mask;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!sizes[d]) continue;
    const Tensor part = below_count(*sizes[d], dims[d], d, dims.size());
    mask = mask ? binary(Binary::And, *mask, part) : part;
  }
  return mask;
}

Tensor gather_rows(Tensor x, Tensor indices, int axis) {
  fbs::GatherT params;
  params.axis = axis;
  return x.graph->add_op("", params, {x, indices});
}

// An input as a tensor of its own type, also where all inputs are constants.
Tensor tensor_of(Op& op, size_t i) {
  const Array* array = std::get_if<Array>(&op.value(i));
  return array ? add_constant(op.graph(), op.node().inputs[i], *array) : op.tensor(i);
}

// An input with padding along the counted dimensions in `axes` replaced.
Tensor filled(Op& op, size_t i, const std::vector<int>& axes, double value) {
  Sizes sizes = op.counted(i).sizes;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (std::count(axes.begin(), axes.end(), static_cast<int>(d)) == 0) sizes[d].reset();
  const Tensor x = tensor_of(op, i);
  const auto mask = valid(op.dims(i), sizes);
  return mask ? select(*mask, x, scalar(x, value)) : x;
}

double lowest(Tensor x) {
  return x.dtype() == fbs::DType::Int32 ? std::numeric_limits<int32_t>::min()
                                        : -std::numeric_limits<double>::infinity();
}
double highest(Tensor x) {
  return x.dtype() == fbs::DType::Int32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<double>::infinity();
}

// ---- operators that pass counts on

// One count, 0 or 1, of a dimension that others broadcast to more would be neither's size.
void refuse_stretched(Op& op, size_t i, const Dims& result) {
  const Sizes& own = op.counted(i).sizes;
  const Dims dims = op.dims(i);
  for (size_t d = 0; d < own.size(); ++d)
    if (const int64_t to = result[result.size() - own.size() + d]; own[d] && dims[d] != to)
      op.refuse("dimension %zu of input %zu, whose size follows from values, is broadcast to %lld", d, i,
                static_cast<long long>(to));
}

void elementwise(Op& op, OpFunction function) {
  function(op);
  const Dims dims = std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Array>) return value.dims;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>) return dims_of(value);
        return Dims{};
      },
      op.outputs().front());
  Sizes sizes(dims.size());
  for (size_t i = 0; i < op.input_count(); ++i) {
    const Sizes& own = op.counted(i).sizes;
    if (!own.empty()) refuse_stretched(op, i, dims);
    for (size_t d = 0; d < own.size(); ++d)
      if (own[d] && !sizes[dims.size() - own.size() + d]) sizes[dims.size() - own.size() + d] = own[d];
  }
  for (size_t k = 0; k < op.outputs().size(); ++k)
    if (op.wants(k)) op.set_counts(k, sizes);
}

// Samples of a batch are independent of each other.
void batch(Op& op, OpFunction function) {
  for (size_t i = 0; i < op.input_count(); ++i) {
    const Sizes& sizes = op.counted(i).sizes;
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] && (i > 0 || d > 0))
        op.refuse("dimension %zu of input %zu follows from values, expected the batch only", d, i);
  }
  function(op);
  const Array* known = std::get_if<Array>(&op.outputs().front());
  Sizes sizes(known ? known->dims.size() : dims_of(std::get<Tensor>(op.outputs().front())).size());
  sizes[0] = op.counted(0).sizes.front();
  op.set_counts(0, std::move(sizes));
}

// The axis that the operator combines must have a known size.
void along_other_axes(Op& op, OpFunction function) {
  const int axis = op.axis(op.integer("axis", op.opset() < 13 ? 1 : -1), op.rank(0));
  for (size_t d = 0; d < op.counted(0).sizes.size(); ++d)
    if (op.counted(0).sizes[d] && (static_cast<int>(d) == axis || (op.opset() < 13 && static_cast<int>(d) > axis)))
      op.refuse("dimension %zu, along which it computes, follows from values", d);
  function(op);
  op.set_counts(0, op.counted(0).sizes);
}

void transposed(Op& op, OpFunction function) {
  function(op);
  const int rank = op.rank(0);
  std::vector<int64_t> reversed(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) reversed[static_cast<size_t>(i)] = rank - 1 - i;
  Sizes sizes;
  for (const int d : op.axes(op.integers("perm", reversed), rank))
    sizes.push_back(size_at(op.counted(0).sizes, static_cast<size_t>(d)));
  op.set_counts(0, sizes);
}

// A reshape: products of dimensions of the input correspond to products of dimensions of the output. A counted
// dimension must be the first of its product, so that its elements stay together.
void reshaped(Op& op, OpFunction function) {
  function(op);
  const Value& value = op.outputs().front();
  const Array* array = std::get_if<Array>(&value);
  const Dims from = op.dims(0), to = array ? array->dims : dims_of(std::get<Tensor>(value));
  const Sizes& own = op.counted(0).sizes;
  Sizes sizes(to.size());
  if (!is_counted(own) && op.input_count() > 1 && op.counted(1).least)
    op.refuse("the shape follows from values, the data's does not");
  for (size_t i = 0, k = 0; i < from.size();) {
    size_t end = i + 1, last = k;
    int64_t a = from[i], b = 1;
    do {  // extends both products until they are equal
      if (b < a && last < to.size())
        b *= to[last++];
      else if (a < b && end < from.size())
        a *= from[end++];
      else if (a != b)
        op.refuse("%s of counted dimensions as %s", to_string(from).c_str(), to_string(to).c_str());
    } while (a != b);
    // The counted dimensions of this product; dimensions of 1 before one do not matter.
    size_t counted = i;
    while (counted < end && !size_at(own, counted)) ++counted;
    if (counted < end) {
      const bool first = std::all_of(from.begin() + static_cast<long>(i), from.begin() + static_cast<long>(counted),
                                     [](int64_t d) { return d == 1; });
      bool alone = first;
      for (size_t d = counted + 1; d < end; ++d) alone = alone && !size_at(own, d);
      size_t target = k;
      while (target < last && to[target] == 1 && a != 1) ++target;
      if (target == last && last < to.size() && to[last] == 1) ++last;  // a counted size of at most 1
      if (!alone || target >= to.size())
        op.refuse("%s as %s moves elements of a counted dimension", to_string(from).c_str(), to_string(to).c_str());
      Tensor size = *own[counted];
      int64_t inner = 1, outer = 1;
      for (size_t d = counted + 1; d < end; ++d) inner *= from[d];
      for (size_t d = target + 1; d < last; ++d) outer *= to[d];
      if (inner % outer == 0) {
        inner /= outer;
        outer = 1;
      }
      if (inner != 1) size = binary(Binary::Mul, size, scalar(size, static_cast<double>(inner)));
      if (outer != 1) size = binary(Binary::Div, size, scalar(size, static_cast<double>(outer)));
      sizes[target] = size;
    }
    i = end;
    k = last;
  }
  op.set_counts(0, sizes);
}

// Squeeze, Unsqueeze: dimensions of 1 come and go; an uncounted one never was counted.
void squeezed(Op& op, OpFunction function) {
  function(op);
  const auto list = op.input_or_attribute(1, "axes");
  Sizes sizes = op.counted(0).sizes;
  sizes.resize(static_cast<size_t>(op.rank(0)));
  if (op.node().op == "Unsqueeze") {
    std::vector<int> axes = op.axes(*list, static_cast<int>(sizes.size() + list->size()));
    std::sort(axes.begin(), axes.end());
    for (const int a : axes) sizes.insert(sizes.begin() + a, std::nullopt);
  } else {
    const std::vector<int> axes = list ? op.axes(*list, op.rank(0)) : std::vector<int>{};
    for (size_t d = sizes.size(); d-- > 0;) {
      const bool drop = list ? std::count(axes.begin(), axes.end(), static_cast<int>(d)) > 0 : op.dims(0)[d] == 1;
      if (drop && sizes[d]) op.refuse("dimension %zu, which it drops, follows from values", d);
      if (drop) sizes.erase(sizes.begin() + static_cast<long>(d));
    }
  }
  op.set_counts(0, sizes);
}

// Indices that count from the end count from the count; those of padding become 0.
Tensor safe_indices(Op& op, size_t i, const std::optional<Tensor>& size) {
  Tensor index = cast_to(tensor_of(op, i), fbs::DType::Int32);
  if (const auto mask = valid(op.dims(i), op.counted(i).sizes)) index = select(*mask, index, scalar(index, 0));
  if (!size) return index;
  return select(binary(Binary::Less, index, scalar(index, 0)), binary(Binary::Add, index, *size), index);
}

void gathered(Op& op, OpFunction) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const Sizes &data = op.counted(0).sizes, &indices = op.counted(1).sizes;
  const Tensor x = tensor_of(op, 0);
  op.set(gather_rows(x, safe_indices(op, 1, size_at(data, static_cast<size_t>(axis))), axis), op.type(0));
  Sizes sizes;
  for (int d = 0; d < op.rank(0); ++d) {
    if (d != axis) {
      sizes.push_back(size_at(data, static_cast<size_t>(d)));
      continue;
    }
    for (int k = 0; k < op.rank(1); ++k) sizes.push_back(size_at(indices, static_cast<size_t>(k)));
  }
  op.set_counts(0, sizes);
}

void gathered_elements(Op& op, OpFunction) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  fbs::GatherT params;
  params.kind = fbs::GatherKind::Elements;
  params.axis = axis;
  const Tensor index = safe_indices(op, 1, size_at(op.counted(0).sizes, static_cast<size_t>(axis)));
  op.set(op.graph().add_op("", params, {tensor_of(op, 0), index}), op.type(0));
  op.set_counts(0, op.counted(1).sizes);
}

void gathered_nd(Op& op, OpFunction) {
  const int64_t batch = op.integer("batch_dims", 0), depth = op.dims(1).back();
  if (size_at(op.counted(1).sizes, static_cast<size_t>(op.rank(1)) - 1)) op.refuse("tuples of a counted length");
  if (batch != 0)
    op.refuse("attribute 'batch_dims' is %lld for counted rows, expected 0", static_cast<long long>(batch));
  std::optional<Tensor> ends;  // what negative indices count from
  if (is_counted(op.counted(0).sizes)) {
    std::vector<Tensor> parts;
    for (int64_t d = 0; d < depth; ++d) {
      const auto& size = size_at(op.counted(0).sizes, static_cast<size_t>(d));
      parts.push_back(size ? *size : integers(op.graph(), {1}, {op.dims(0)[static_cast<size_t>(d)]}));
    }
    ends = parts.size() == 1 ? parts[0] : concat(parts, 0);
  }
  fbs::GatherT params;
  params.kind = fbs::GatherKind::Tuples;
  op.set(op.graph().add_op("", params, {tensor_of(op, 0), safe_indices(op, 1, ends)}), op.type(0));
  Sizes sizes;
  for (int k = 0; k + 1 < op.rank(1); ++k) sizes.push_back(size_at(op.counted(1).sizes, static_cast<size_t>(k)));
  for (int d = static_cast<int>(depth); d < op.rank(0); ++d)
    sizes.push_back(size_at(op.counted(0).sizes, static_cast<size_t>(d)));
  op.set_counts(0, sizes);
}

// Padding among the updates goes to an additional row, which is cut off.
void scattered(Op& op, OpFunction) {
  if (op.text("reduction", "none") != "none") op.refuse("attribute 'reduction' with counted indices");
  const bool rows = op.node().op == "ScatterRows" && scatters_rows(op);
  const bool tuples = op.node().op == "ScatterND" || rows;
  const int axis = tuples ? 0 : op.axis(op.integer("axis", 0), op.rank(0));
  const auto at = static_cast<size_t>(axis);
  const Tensor x = tensor_of(op, 0), updates = cast_to(tensor_of(op, 2), x.dtype());
  fbs::PadT pad;
  pad.before.assign(op.dims(0).size(), 0);
  pad.after.assign(op.dims(0).size(), 0);
  pad.after[at] = 1;
  const Tensor longer = op.graph().add_op("", pad, {x});
  const int64_t size = op.dims(0)[at];
  Tensor index = cast_to(tensor_of(op, rows ? 3 : 1), fbs::DType::Int32);
  if (rows) index = reshape_to(index, {op.dims(3)[0], 1});
  const Sizes& data = op.counted(0).sizes;
  const int64_t depth = tuples ? dims_of(index).back() : 1;
  std::vector<Tensor> lengths;  // what negative indices count from
  std::vector<int64_t> beyond(static_cast<size_t>(depth), 0);
  beyond[0] = size;
  for (size_t d = at; d < at + static_cast<size_t>(depth); ++d)
    lengths.push_back(size_at(data, d) ? *data[d] : integers(op.graph(), {1}, {op.dims(0)[d]}));
  const Tensor from_end = binary(Binary::Add, index, lengths.size() == 1 ? lengths[0] : concat(lengths, 0));
  index = select(binary(Binary::Less, index, scalar(index, 0)), from_end, index);
  const Sizes& sizes = op.counted(1).sizes;
  if (const auto mask = rows ? valid(dims_of(index), {size_at(sizes, 0), {}}) : valid(op.dims(1), sizes))
    index = select(*mask, index, integers(op.graph(), {depth}, beyond));
  fbs::ScatterT params;
  params.where = tuples ? fbs::GatherKind::Tuples : fbs::GatherKind::Elements;
  params.axis = axis;
  const Tensor written = op.graph().add_op("", params, {longer, index, updates});
  op.set(slice(written, axis, 0, static_cast<int>(size)), op.type(0));
  op.set_counts(0, data);
}

// Parts along a counted axis are moved together.
void concatenated(Op& op, OpFunction function) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const auto at = static_cast<size_t>(axis);
  Sizes sizes(static_cast<size_t>(op.rank(0)));
  bool counted = false;
  for (size_t i = 0; i < op.input_count(); ++i) {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (d != at && !sizes[d]) sizes[d] = size_at(op.counted(i).sizes, d);
    counted = counted || size_at(op.counted(i).sizes, at);
  }
  if (!counted) {
    function(op);
    return op.set_counts(0, sizes);
  }
  std::vector<Tensor> parts, flags;
  for (size_t i = 0; i < op.input_count(); ++i) {
    const int64_t bound = op.dims(i)[at];
    if (bound == 0) continue;
    parts.push_back(tensor_of(op, i));
    const auto& size = size_at(op.counted(i).sizes, at);
    flags.push_back(size ? below_count(*size, bound, 0, 1)
                         : integers(op.graph(), {bound}, std::vector<int64_t>(static_cast<size_t>(bound), 1)));
  }
  if (parts.size() == 1) {
    op.set(parts[0], op.type(0));
    sizes[at] = op.counted(0).sizes[at];
    return op.set_counts(0, sizes);
  }
  const auto [order, count] = pick_flagged(concat(flags, 0));
  op.set(gather_rows(concat(parts, axis), order, axis), op.type(0));
  sizes[at] = count;
  op.set_counts(0, sizes);
}

void reduced(Op& op, OpFunction) {
  const std::string& name = op.node().op;
  const auto list = op.input_or_attribute(1, "axes");
  std::vector<int> axes = list && !list->empty() ? op.axes(*list, op.rank(0)) : std::vector<int>{};
  if (axes.empty() && op.integer("noop_with_empty_axes", 0) != 0) {
    op.set(op.value(0));
    return op.set_counts(0, op.counted(0).sizes);
  }
  if (axes.empty())
    for (int d = 0; d < op.rank(0); ++d) axes.push_back(d);
  std::sort(axes.begin(), axes.end());
  const bool keep = op.integer("keepdims", 1) != 0;
  const auto kind = name == "ReduceMax"    ? fbs::ReduceKind::Max
                    : name == "ReduceMin"  ? fbs::ReduceKind::Min
                    : name == "ReduceProd" ? fbs::ReduceKind::Prod
                                           : fbs::ReduceKind::Sum;
  const Tensor like = tensor_of(op, 0);
  const double fill = kind == fbs::ReduceKind::Max    ? lowest(like)
                      : kind == fbs::ReduceKind::Min  ? highest(like)
                      : kind == fbs::ReduceKind::Prod ? 1
                                                      : 0;
  Tensor result = reduce(filled(op, 0, axes, fill), kind, axes, keep);
  if (name == "ReduceMean") {
    Tensor number = scalar(like, 1);
    for (const int d : axes) {
      const auto& size = size_at(op.counted(0).sizes, static_cast<size_t>(d));
      const double known = static_cast<double>(op.dims(0)[static_cast<size_t>(d)]);
      number = binary(Binary::Mul, number, size ? cast_to(*size, like.dtype()) : scalar(like, known));
    }
    result = binary(Binary::Div, result, number);
  }
  op.set(result, op.type(0));
  Sizes sizes;
  for (int d = 0; d < op.rank(0); ++d) {
    const bool gone = std::count(axes.begin(), axes.end(), d) > 0;
    if (!gone || keep) sizes.push_back(gone ? std::nullopt : size_at(op.counted(0).sizes, static_cast<size_t>(d)));
  }
  op.set_counts(0, sizes);
}

// A slice along a counted dimension from a known place, in steps of 1.
void sliced(Op& op, OpFunction function) {
  const auto begins = op.input_or_attribute(1, "starts"), ends = op.input_or_attribute(2, "ends");
  if (!begins || !ends) op.refuse("starts or ends are missing");
  std::vector<int64_t> list(begins->size()), steps(begins->size(), 1);
  std::iota(list.begin(), list.end(), 0);
  if (const auto given = op.input_or_attribute(3, "axes")) list = *given;
  if (op.has(4)) steps = op.array(4, "steps").ints();
  const std::vector<int> axes = op.axes(list, op.rank(0));
  if (begins->size() != axes.size() || ends->size() != axes.size() || steps.size() != axes.size())
    op.refuse("%zu starts, %zu ends and %zu steps for %zu axes", begins->size(), ends->size(), steps.size(),
              axes.size());
  Sizes sizes = op.counted(0).sizes;
  sizes.resize(static_cast<size_t>(op.rank(0)));
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<Tensor>& size = sizes[static_cast<size_t>(axes[i])];
    if (op.counted(1).least || (op.counted(2).least && op.node().inputs.size() > 2 && begins->size() > 1))
      op.refuse("a slice whose beginning follows from values");
    if (!size && !op.counted(2).least) continue;
    const int64_t step = steps[i], begin = (*begins)[i], end = (*ends)[i];
    const int64_t bound = op.dims(0)[static_cast<size_t>(axes[i])];
    if (step != 1 || begin < 0 || end < 0)
      op.refuse("a slice of a counted dimension from %lld to %lld in steps of %lld", static_cast<long long>(begin),
                static_cast<long long>(end), static_cast<long long>(step));
    Tensor last = size ? *size : integers(op.graph(), {1}, {bound});
    if (op.counted(2).least)
      last = binary(Binary::Min, last, reshape_to(*op.counted(2).in_run, {1}));
    else if (end < bound)
      last = binary(Binary::Min, last, scalar(last, static_cast<double>(end)));
    if (begin > 0)
      last = binary(Binary::Max, binary(Binary::Sub, last, scalar(last, static_cast<double>(begin))), scalar(last, 0));
    size = last;
  }
  function(op);
  op.set_counts(0, sizes);
}

// RoiAlign: a region of padding reads sample 0.
void regions(Op& op, OpFunction function) {
  if (is_counted(op.counted(0).sizes)) op.refuse("maps whose size follows from values");
  const auto& count = size_at(op.counted(1).sizes, 0) ? op.counted(1).sizes[0] : size_at(op.counted(2).sizes, 0);
  if (is_counted(op.counted(2).sizes)) op.replace_input(2, safe_indices(op, 2, std::nullopt));
  function(op);
  op.set_counts(0, {count, std::nullopt, std::nullopt, std::nullopt});
}

void padded(Op& op, OpFunction function) {
  const Sizes sizes = op.counted(0).sizes;
  const size_t rank = static_cast<size_t>(op.rank(0));
  const auto pads = op.input_or_attribute(1, "pads");
  std::vector<int64_t> list(rank);
  std::iota(list.begin(), list.end(), 0);
  if (op.has(3)) list = op.array(3, "axes").ints();
  const std::vector<int> axes = op.axes(list, op.rank(0));
  for (size_t i = 0; pads && i < axes.size() && pads->size() == 2 * axes.size(); ++i)
    if (size_at(sizes, static_cast<size_t>(axes[i])) && ((*pads)[i] != 0 || (*pads)[axes.size() + i] != 0))
      op.refuse("dimension %d, which it pads, follows from values", axes[i]);
  function(op);
  op.set_counts(0, sizes);
}

// What it returns does not depend on the sizes.
void of_known_size(Op& op, OpFunction function) { function(op); }

void split_apart(Op& op, OpFunction function) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  if (size_at(op.counted(0).sizes, static_cast<size_t>(axis))) op.refuse("a counted dimension is split");
  function(op);
  for (size_t i = 0; i < op.outputs().size(); ++i) op.set_counts(i, op.counted(0).sizes);
}

void expanded(Op& op, OpFunction function) {
  function(op);
  const Dims to = op.array(1, "the shape").ints();
  const Value& value = op.outputs().front();
  const Array* array = std::get_if<Array>(&value);
  const Dims result = array ? array->dims : dims_of(std::get<Tensor>(value));
  Sizes sizes(result.size());
  const Sizes own = op.counted(0).sizes, asked = op.elements_in_run(1);
  if (!own.empty()) refuse_stretched(op, 0, result);
  for (size_t d = 0; d < own.size(); ++d) sizes[sizes.size() - own.size() + d] = own[d];
  for (size_t d = 0; d < asked.size(); ++d)
    if (auto& size = sizes[sizes.size() - asked.size() + d]; asked[d] && !size) size = asked[d];
  op.set_counts(0, sizes);
}

void constant_of_counts(Op& op, OpFunction function) {
  function(op);
  op.set_counts(0, op.elements_in_run(0));
}

void range_of_counts(Op& op, OpFunction function) {
  if (!op.counted(1).least || op.counted(0).least || op.counted(2).least || op.single(0, "start") != 0 ||
      op.single(2, "delta") != 1)
    op.refuse("a range whose limits follow from values, expected 0 up to a count");
  function(op);
  op.set_counts(0, {reshape_to(*op.counted(1).in_run, {1})});
}

void best_of_counted(Op& op, OpFunction) {
  const int axis = op.axis(op.integer("axis", -1), op.rank(0));
  const auto at = static_cast<size_t>(axis);
  const int64_t bound = op.dims(0)[at];
  const auto k = op.opset() < 10 ? op.integer("k", 0) : to_integer(op.single(1, "k"));
  if (k < 1) op.refuse("the top %lld", static_cast<long long>(k));
  fbs::TopKT params;
  params.k = to_int32({std::min(k, bound)})[0];
  params.smallest = op.integer("largest", 1) == 0;
  const Tensor like = tensor_of(op, 0);
  const Tensor rows = swap_with_last(filled(op, 0, {axis}, params.smallest ? highest(like) : lowest(like)), axis);
  const std::vector<Tensor> found = op.graph().add_op_with_outputs("", params, {rows}, 2);
  op.set(0, swap_with_last(found[1], axis), op.type(0));
  op.set(1, swap_with_last(found[0], axis), Type::Int64);
  Sizes sizes = op.counted(0).sizes;
  sizes.resize(static_cast<size_t>(op.rank(0)));
  if (op.counted(1).least) {
    sizes[at] = reshape_to(*op.counted(1).in_run, {1});
  } else if (sizes[at]) {
    sizes[at] = binary(Binary::Min, *sizes[at], scalar(*sizes[at], static_cast<double>(params.k)));
  }
  op.set_counts(0, sizes);
  op.set_counts(1, sizes);
}

void arg_best_of_counted(Op& op, OpFunction function) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  if (size_at(op.counted(0).sizes, static_cast<size_t>(axis))) op.refuse("the best place along a counted dimension");
  function(op);
  Sizes sizes = op.counted(0).sizes;
  if (op.integer("keepdims", 1) == 0) sizes.erase(sizes.begin() + axis);
  op.set_counts(0, sizes);
}

void multiplied(Op& op, OpFunction function) {
  const bool gemm = op.node().op == "Gemm";
  const Sizes &a = op.counted(0).sizes, &b = op.counted(1).sizes;
  const int ra = op.rank(0), rb = op.rank(1);
  if (ra < 2 || rb < 2 || is_counted(b) || (gemm && op.integer("transA", 0) != 0) ||
      size_at(a, static_cast<size_t>(ra) - 1))
    op.refuse("a product with counted dimensions other than rows of the first factor");
  function(op);
  Sizes sizes(static_cast<size_t>(std::max(ra, rb)));
  for (size_t d = 0; d < a.size(); ++d) sizes[sizes.size() - a.size() + d] = a[d];
  op.set_counts(0, sizes);
}

// The shape at the bounds, with counts of 0, and in a run.
void shape_of(Op& op, OpFunction function) {
  Dims dims = op.dims(0), zero = dims;
  const Sizes& sizes = op.counted(0).sizes;
  std::vector<Tensor> parts;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (size_at(sizes, d)) zero[d] = 0;
    parts.push_back(size_at(sizes, d) ? *sizes[d] : integers(op.graph(), {1}, {dims[d]}));
  }
  function(op);
  if (op.node().op == "Size" || op.has_attribute("start") || op.has_attribute("end")) {
    Tensor all = parts[0];
    if (op.node().op != "Size") op.refuse("attributes 'start' and 'end' with counted dimensions");
    for (size_t d = 1; d < parts.size(); ++d) all = binary(Binary::Mul, all, parts[d]);
    return op.set_in_run(0, make_array(Type::Int64, {}, std::vector{count_elements(zero)}), reshape_to(all, {}));
  }
  op.set_in_run(0, make_vector(zero), parts.size() == 1 ? parts[0] : concat(parts, 0));
}

struct Row {
  std::string_view op;
  void (*import)(Op&, OpFunction);
};

constexpr Row kRows[] = {
    {"ArgMax", arg_best_of_counted},
    {"ArgMin", arg_best_of_counted},
    {"AveragePool", batch},
    {"BatchNormalization", batch},
    {"Concat", concatenated},
    {"ConstantOfShape", constant_of_counts},
    {"Conv", batch},
    {"ConvTranspose", batch},
    {"Expand", expanded},
    {"Flatten", reshaped},
    {"Gather", gathered},
    {"GatherElements", gathered_elements},
    {"GatherND", gathered_nd},
    {"Gemm", multiplied},
    {"GlobalAveragePool", batch},
    {"LogSoftmax", along_other_axes},
    {"MatMul", multiplied},
    {"MaxPool", batch},
    {"Range", range_of_counts},
    {"Optional", elementwise},
    {"OptionalGetElement", elementwise},
    {"OptionalHasElement", of_known_size},
    {"Pad", padded},
    {"ReduceMax", reduced},
    {"ReduceMean", reduced},
    {"ReduceMin", reduced},
    {"ReduceProd", reduced},
    {"ReduceSum", reduced},
    {"Reshape", reshaped},
    {"Resize", batch},
    {"RoiAlign", regions},
    {"ScatterElements", scattered},
    {"ScatterND", scattered},
    {"ScatterRows", scattered},
    {"Shape", shape_of},
    {"Size", shape_of},
    {"Slice", sliced},
    {"Softmax", along_other_axes},
    {"Split", split_apart},
    {"Squeeze", squeezed},
    {"TopK", best_of_counted},
    {"Transpose", transposed},
    {"Unsqueeze", squeezed},
};

constexpr std::string_view kElementwise[] = {"Abs",
                                             "Acos",
                                             "Add",
                                             "And",
                                             "Asin",
                                             "Atan",
                                             "Cast",
                                             "CastLike",
                                             "Ceil",
                                             "Celu",
                                             "Clip",
                                             "Cos",
                                             "Div",
                                             "Dropout",
                                             "Elu",
                                             "Equal",
                                             "Erf",
                                             "Exp",
                                             "Floor",
                                             "Greater",
                                             "Gelu",
                                             "GeluTanh",
                                             "GreaterOrEqual",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "Identity",
                                             "IsInf",
                                             "IsNaN",
                                             "LeakyRelu",
                                             "Less",
                                             "LessOrEqual",
                                             "Log",
                                             "Max",
                                             "Mean",
                                             "Min",
                                             "Mish",
                                             "Mod",
                                             "Mul",
                                             "Neg",
                                             "Not",
                                             "Or",
                                             "PRelu",
                                             "Pow",
                                             "Reciprocal",
                                             "Relu",
                                             "Round",
                                             "Selu",
                                             "Sigmoid",
                                             "Sign",
                                             "Silu",
                                             "Sin",
                                             "Softplus",
                                             "Softsign",
                                             "Sqrt",
                                             "Sub",
                                             "Sum",
                                             "Tan",
                                             "Tanh",
                                             "Where",
                                             "Xor"};

// Operators that compute sizes from sizes.
constexpr std::string_view kOfSizes[] = {
    "Add",       "And",        "Cast",      "Ceil",    "Concat", "Div",     "Equal", "Floor",     "Gather", "Greater",
    "Identity",  "Less",       "Max",       "Min",     "Mod",    "Mul",     "Neg",   "Not",       "Or",     "ReduceMax",
    "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice",  "Squeeze", "Sub",   "Unsqueeze", "Where"};

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Computes the result at the bounds, with counts of 0, and in a run.
void of_sizes(Op& op, OpFunction function) {
  function(op);
  Op zero = op.at_counts(false), run = op.at_counts(true);
  function(zero);
  function(run);
  const Array* most = std::get_if<Array>(&op.outputs().front());
  const Array* least = std::get_if<Array>(&zero.outputs().front());
  const Tensor* in_run = std::get_if<Tensor>(&run.outputs().front());
  if (!most || !least || !in_run || most->dims != least->dims) op.refuse("sizes that follow from values");
  const std::vector<double> a = most->floats(), b = least->floats();
  if (a == b) return;  // of known sizes only
  if (most->type != Type::Bool && !std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x >= y; }))
    op.refuse("a size that falls where a count rises has no bound");
  op.set_in_run(0, *least, *in_run);
}

}  // namespace

std::pair<Tensor, Tensor> pick_flagged(Tensor flags) {
  fbs::TopKT params;
  params.k = flags.shape()[0];
  return {flags.graph->add_op("", params, {flags}), reduce(flags, fbs::ReduceKind::Sum, {0}, true)};
}

Tensor valid_flags(Op& op, size_t i, Tensor flags) {
  const auto mask = valid(op.dims(i), op.counted(i).sizes);
  return mask ? binary(Binary::And, flags, *mask) : flags;
}

void import_counted(Op& op, OpFunction function) {
  const std::string& name = op.node().op;
  if (!op.node().domain.empty() && op.node().domain != "ai.onnx" && op.node().domain != "ferry")
    op.refuse("the size of an input follows from values, which is supported for ONNX's own operators only");
  bool sizes_only = op.known();
  for (size_t i = 0; i < op.input_count(); ++i) sizes_only = sizes_only && op.counted(i).sizes.empty();
  if (sizes_only && contains(kOfSizes, name)) return of_sizes(op, function);
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == name; });
  static constexpr std::string_view kReadsSizes[] = {"ConstantOfShape", "Expand", "Range", "Reshape", "Slice", "TopK"};
  if (!contains(kReadsSizes, name)) op.use_sizes_in_run();
  if (row != std::end(kRows)) return row->import(op, function);
  if (contains(kElementwise, name)) return elementwise(op, function);
  static constexpr std::string_view kOwnCounts[] = {"Compress", "KeypointsOfHeatmaps", "NonMaxSuppression", "NonZero",
                                                    "PasteMasks"};
  if (contains(kOwnCounts, name)) return function(op);
  for (size_t i = 0; i < op.input_count(); ++i)
    if (is_counted(op.counted(i).sizes)) op.refuse("the size of input %zu follows from values", i);
  function(op);
}

}  // namespace ferry::onnx
