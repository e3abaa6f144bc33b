// Values that are known at conversion: constants, shapes, ranges, and what computes with them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/onnx/ops/ops.h"

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

void shape(Op& op) {
  const Dims dims = op.dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  const auto place = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  const int64_t begin = place(op.integer("start", 0)), end = place(op.integer("end", rank));
  op.set(make_vector(begin < end ? Dims(dims.begin() + begin, dims.begin() + end) : Dims{}));
}

void size(Op& op) { op.set(make_array(Type::Int64, {}, std::vector{count_elements(op.dims(0))})); }

namespace {

// An activation is computed in float32, whatever floating point the file says.
void set_cast(Op& op, Type to) {
  if (!is_activation(to))
    op.refuse("an activation is cast to %s, expected float32, float16 or float64", type_name(to).c_str());
  op.set(op.tensor(0));
}

}  // namespace

void cast(Op& op) {
  const Type to = static_cast<Type>(op.integer("to", 0));
  if (op.known(0)) return op.set(cast(op.array(0, "input"), to));
  set_cast(op, to);
}

void cast_like(Op& op) {
  if (op.known(0) && op.known(1)) return op.set(cast(op.array(0, "input"), op.array(1, "target").type));
  // Activations are float32, and float16 is computed as such.
  if (op.known(0)) return op.set(cast(op.array(0, "input"), Type::Float32));
  set_cast(op, op.known(1) ? op.array(1, "target").type : Type::Float32);
}

void range(Op& op) {
  const Array& start = op.array(0, "start");
  const Type type = start.type;
  const double first = op.single(0, "start"), limit = op.single(1, "limit"), step = op.single(2, "delta");
  const double count = step == 0 ? -1 : std::ceil((limit - first) / step);
  if (!(step != 0 && count <= 1 << 24)) op.refuse("it has too many elements");
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) values.push_back(first + static_cast<double>(i) * step);
  op.set(make_array(type, {static_cast<int64_t>(values.size())}, values));
}

void eye_like(Op& op) {
  const Dims dims = op.dims(0);
  if (dims.size() != 2) op.refuse("an input of %zu dimensions, expected 2", dims.size());
  const int64_t k = op.integer("k", 0);
  const Type type = static_cast<Type>(
      op.integer("dtype", static_cast<int64_t>(op.known(0) ? op.array(0, "input").type : Type::Float32)));
  std::vector<int64_t> values(static_cast<size_t>(count_computed(dims)), 0);
  for (int64_t row = 0; row < dims[0]; ++row)
    if (row + k >= 0 && row + k < dims[1]) values[static_cast<size_t>(row * dims[1] + row + k)] = 1;
  op.set(make_array(type, dims, values));
}

void non_zero(Op& op) {
  const Array& x = op.array(0, "X");
  const Dims strides = strides_of(x.dims);
  const std::vector<double> values = x.floats();
  std::vector<std::vector<int64_t>> found(x.dims.size());
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t d = 0; values[i] != 0 && d < x.dims.size(); ++d)
      found[d].push_back(static_cast<int64_t>(i) / strides[d] % x.dims[d]);
  std::vector<int64_t> all;
  for (const auto& row : found) all.insert(all.end(), row.begin(), row.end());
  const int64_t count = found.empty() ? 0 : static_cast<int64_t>(found[0].size());
  op.set(make_array(Type::Int64, {static_cast<int64_t>(x.dims.size()), count}, all));
}

void trilu(Op& op) {
  const Array& x = op.array(0, "input");
  if (x.dims.size() < 2) op.refuse("an input of %zu dimensions, expected 2 or more", x.dims.size());
  const int64_t k = op.has(1) ? static_cast<int64_t>(op.single(1, "k")) : 0, columns = x.dims.back(),
                rows = x.dims[x.dims.size() - 2];
  const bool upper = op.integer("upper", 1) != 0;
  std::vector<double> values = x.floats();
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / columns % rows, column = static_cast<int64_t>(i) % columns;
    if (upper ? column - row < k : column - row > k) values[i] = 0;
  }
  op.set(make_array(x.type, x.dims, values));
}

void one_hot(Op& op) {
  const Array &indices = op.array(0, "indices"), &values = op.array(2, "values");
  const std::vector<double> depths = op.array(1, "depth").floats();
  if (depths.size() != 1 || values.elements() != 2 || depths[0] < 1 || depths[0] > 1 << 24)
    op.refuse("depth and values are not one and two numbers");
  const auto depth = static_cast<int64_t>(depths[0]);
  const int axis = op.axis(op.integer("axis", -1), static_cast<int>(indices.dims.size()) + 1);
  Dims dims = indices.dims;
  dims.insert(dims.begin() + axis, depth);
  const int64_t inner = count_elements(Dims(indices.dims.begin() + axis, indices.dims.end()));
  const std::vector<double> hot = indices.floats();
  const int64_t count = count_elements(dims);
  if (count > int64_t{1} << 24) op.refuse("it has too many elements");
  std::vector<int64_t> source(static_cast<size_t>(count));
  for (size_t i = 0; i < source.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t outer = at / (inner * depth), place = at / inner % depth;
    double index = hot[static_cast<size_t>(outer * inner + at % inner)];
    if (index < 0) index += static_cast<double>(depth);
    source[i] = index == static_cast<double>(place);
  }
  op.set(gather_elements(values, dims, source));
}

}  // namespace ferry::onnx
