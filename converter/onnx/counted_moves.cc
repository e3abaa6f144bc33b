// Operators that pass counts on.
#include <algorithm>
#include <limits>
#include <numeric>

#include "converter/onnx/counted_operators.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx::counts {

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

Tensor below_count(Tensor count, int64_t bound, size_t d, size_t rank) {
  Dims dims(rank, 1);
  dims[d] = bound;
  std::vector<int64_t> places(static_cast<size_t>(bound));
  std::iota(places.begin(), places.end(), 0);
  return binary(Binary::Less, integers(*count.graph, dims, places), count);
}

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

Tensor tensor_of(Op& op, size_t i) {
  const Array* array = std::get_if<Array>(&op.value(i));
  return array ? add_constant(op.graph(), op.input_name(i), *array) : op.tensor(i);
}

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

Tensor safe_indices(Op& op, size_t i, const std::optional<Tensor>& size) {
  Tensor index = cast_to(tensor_of(op, i), fbs::DType::Int32);
  if (const auto mask = valid(op.dims(i), op.counted(i).sizes)) index = select(*mask, index, scalar(index, 0));
  if (!size) return index;
  return select(binary(Binary::Less, index, scalar(index, 0)), binary(Binary::Add, index, *size), index);
}

namespace {

// One count, 0 or 1, of a dimension that others broadcast to more would be neither's size.
void refuse_stretched(Op& op, size_t i, const Dims& result) {
  const Sizes& own = op.counted(i).sizes;
  const Dims dims = op.dims(i);
  for (size_t d = 0; d < own.size(); ++d)
    if (const int64_t to = result[result.size() - own.size() + d]; own[d] && dims[d] != to)
      op.refuse("dimension %zu of input %zu, whose size follows from values, is broadcast to %lld", d, i,
                static_cast<long long>(to));
}

}  // namespace

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
  const Dims dims = op.dims(0);
  const Sizes& sizes = op.counted(0).sizes;
  const bool product = op.node().op == "Size";
  const auto [begin, end] = product ? std::pair(size_t{0}, dims.size()) : described_dimensions(op);
  Dims zero;
  std::vector<Tensor> parts;
  bool counted = false;
  for (size_t d = begin; d < end; ++d) {
    counted = counted || size_at(sizes, d);
    zero.push_back(size_at(sizes, d) ? 0 : dims[d]);
    parts.push_back(size_at(sizes, d) ? *sizes[d] : integers(op.graph(), {1}, {dims[d]}));
  }
  function(op);
  if (!counted) return;
  if (product) {
    Tensor all = parts[0];
    for (size_t d = 1; d < parts.size(); ++d) all = binary(Binary::Mul, all, parts[d]);
    return op.set_in_run(0, make_array(Type::Int64, {}, std::vector{count_elements(zero)}), reshape_to(all, {}));
  }
  op.set_in_run(0, make_vector(zero), parts.size() == 1 ? parts[0] : concat(parts, 0));
}

}  // namespace ferry::onnx::counts
