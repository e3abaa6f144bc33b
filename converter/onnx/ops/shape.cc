// Constants, shapes and ranges, which are known at conversion, and operators that compute with them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {

void constant(Op& op) {
  if (op.has_attribute("value")) return op.set(op.constant("value"));
  if (op.has_attribute("value_int"))
    return op.set(make_array(Type::Int64, {}, std::vector{op.integer("value_int", 0)}));
  if (op.has_attribute("value_ints")) return op.set(make_vector(op.integers("value_ints")));
  if (op.has_attribute("value_float"))
    return op.set(make_array(Type::Float32, {}, std::vector{op.number("value_float", 0)}));
  if (op.has_attribute("value_floats")) {
    const std::vector<double> values = op.numbers("value_floats");
    return op.set(make_array(Type::Float32, {static_cast<int64_t>(values.size())}, values));
  }
  op.refuse("its value is a string or sparse");
}

void constant_of_shape(Op& op) {
  const Array value =
      op.has_attribute("value") ? op.constant("value") : make_array(Type::Float32, {1}, std::vector{0.0});
  if (value.elements() != 1) op.refuse("attribute 'value' has %lld elements", static_cast<long long>(value.elements()));
  op.set(expand(value.reshaped({}), op.array(0, "the shape").ints()));
}

std::pair<size_t, size_t> described_dimensions(const Op& op) {
  const auto rank = static_cast<int64_t>(op.rank(0));
  const auto position = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  const int64_t begin = position(op.integer("start", 0)), end = position(op.integer("end", rank));
  return {begin, std::max(begin, end)};
}

void shape(Op& op) {
  const Dims dims = op.dims(0);
  const auto [begin, end] = described_dimensions(op);
  op.set(make_vector(
      Dims(dims.begin() + static_cast<std::ptrdiff_t>(begin), dims.begin() + static_cast<std::ptrdiff_t>(end))));
}

void size(Op& op) { op.set(make_array(Type::Int64, {}, std::vector{count_elements(op.dims(0))})); }

namespace {

// Float16 and float64 are computed in float32, integers in 32 bits; narrowing casts are performed.
void set_cast(Op& op, Type to) {
  const Tensor x = op.tensor(0);
  const Type from = op.type(0);
  const bool widens = to == from || (from == Type::Bool && to != Type::Bool && !is_float(to));
  const bool same = is_float(to) ? is_float(from) && to != Type::BFloat16 : widens;
  const bool wide = to == Type::Int64 || to == Type::Int32;
  op.set(same || (wide && !is_float(from)) ? x
                                           : op.graph().add_op("",
                                                               [&] {
                                                                 fbs::CastT params;
                                                                 params.to = to_dtype(to);
                                                                 return params;
                                                               }(),
                                                               {x}),
         to);
}

}  // namespace

void cast(Op& op) {
  const Type to = static_cast<Type>(op.integer("to", 0));
  if (op.known(0)) return op.set(cast(op.array(0, "input"), to));
  set_cast(op, to);
}

void cast_like(Op& op) {
  if (op.known(0)) return op.set(cast(op.array(0, "input"), op.type(1)));
  set_cast(op, op.type(1));
}

void range(Op& op) {
  const Type type = op.type(0);
  const double first = op.single(0, "start"), limit = op.single(1, "limit"), step = op.single(2, "delta");
  const double count = step == 0 ? -1 : std::ceil((limit - first) / step);
  if (!(step != 0 && count <= 1 << 24)) op.refuse("it has too many elements");
  std::vector<double> values;
  for (int64_t i = 0; i < to_integer(count); ++i) values.push_back(first + static_cast<double>(i) * step);
  op.set(make_array(type, {static_cast<int64_t>(values.size())}, values));
}

void eye_like(Op& op) {
  const Dims dims = op.dims(0);
  if (dims.size() != 2) op.refuse("an input of %zu dimensions, expected 2", dims.size());
  const int64_t k = op.integer("k", 0);
  const auto type = static_cast<Type>(op.integer("dtype", static_cast<int64_t>(op.type(0))));
  std::vector<int64_t> values(static_cast<size_t>(count_computed(dims)), 0);
  for (int64_t row = 0; row < dims[0]; ++row)
    if (row + k >= 0 && row + k < dims[1]) values[static_cast<size_t>(row * dims[1] + row + k)] = 1;
  op.set(make_array(type, dims, values));
}

void trilu(Op& op) {
  const Dims dims = op.dims(0);
  if (dims.size() < 2) op.refuse("an input of %zu dimensions, expected 2 or more", dims.size());
  const int64_t k = op.has(1) ? to_integer(op.single(1, "k")) : 0, columns = dims.back(), rows = dims[dims.size() - 2];
  const bool upper = op.integer("upper", 1) != 0;
  std::vector<int64_t> stays(static_cast<size_t>(count_computed({rows, columns})));
  for (size_t i = 0; i < stays.size(); ++i) {
    const int64_t position = static_cast<int64_t>(i) % columns - static_cast<int64_t>(i) / columns;
    stays[i] = upper ? position >= k : position <= k;
  }
  if (!op.known(0)) {
    const Tensor x = op.tensor(0);
    const Array triangle = make_array(Type::Bool, {rows, columns}, stays);
    return op.set(select(add_constant(op.graph(), op.node().name + ".triangle", triangle), x, scalar(x, 0)));
  }
  const Array& x = op.array(0, "input");
  std::vector<double> values = x.floats();
  for (size_t i = 0; i < values.size(); ++i)
    if (stays[i % stays.size()] == 0) values[i] = 0;
  op.set(make_array(x.type, x.dims, values));
}

// Distinct elements, or slices along an axis, of a constant: their number determines sizes.
void unique(Op& op) {
  if (!op.known(0)) op.refuse("the number of results depends on the graph's inputs, expected a constant");
  const Array& given = op.array(0, "X");
  const bool flat = !op.has_attribute("axis");
  const Array x = flat ? given.reshaped({given.elements()}) : given;
  const int axis = flat ? 0 : op.axis(op.integer("axis", 0), op.rank(0));
  const int64_t size = x.dims[static_cast<size_t>(axis)], inner = strides_of(x.dims)[static_cast<size_t>(axis)];
  const std::vector<double> reals = is_float(x.type) ? x.floats() : std::vector<double>{};
  const std::vector<int64_t> integers = is_float(x.type) ? std::vector<int64_t>{} : x.ints();
  // The order of slices: by their elements, from the first on.
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t outer = 0; outer < x.elements(); outer += size * inner)
      for (int64_t i = 0; i < inner; ++i) {
        const auto at = static_cast<size_t>(outer + a * inner + i), with = static_cast<size_t>(outer + b * inner + i);
        const bool less = reals.empty() ? integers[at] < integers[with] : reals[at] < reals[with];
        const bool more = reals.empty() ? integers[at] > integers[with] : reals[at] > reals[with];
        if (less || more) return less ? -1 : 1;
      }
    return 0;
  };
  for (const double v : reals)
    if (std::isnan(v)) op.refuse("a constant with NaN");
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t i : order) {
    if (groups.empty() || compare(groups.back().front(), i) != 0) groups.emplace_back();
    groups.back().push_back(i);
  }
  if (op.integer("sorted", 1) == 0) std::sort(groups.begin(), groups.end());
  std::vector<int64_t> firsts, counts, inverse(order.size());
  for (const std::vector<int64_t>& group : groups) {
    for (const int64_t i : group) inverse[static_cast<size_t>(i)] = static_cast<int64_t>(firsts.size());
    firsts.push_back(group.front());
    counts.push_back(static_cast<int64_t>(group.size()));
  }
  op.set(0, pick(x, axis, firsts), x.type);
  if (op.wants(1)) op.set(1, make_vector(firsts));
  if (op.wants(2)) op.set(2, make_vector(inverse));
  if (op.wants(3)) op.set(3, make_vector(counts));
}

// The bytes of a constant as another type of the same size.
void bit_cast(Op& op) {
  const Array& x = op.array(0, "the input");
  const auto to = static_cast<Type>(op.integer("to", 0));
  if (type_size(to) == 0 || type_bits(to) != type_bits(x.type) || type_size(to) != type_size(x.type))
    op.refuse("bits of %s as %s", type_name(x.type).c_str(), type_name(to).c_str());
  op.set(Array{to, x.dims, x.data}, to);
}

}  // namespace ferry::onnx
