// Gathers and scatters with constant or computed indices; folded for constants, operators for activations.
#include <algorithm>
#include <numeric>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

// Resolves a negative index along a dimension of `size`.
int64_t position_of(const Op& op, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    op.refuse("index %lld is outside a dimension of %lld", static_cast<long long>(index), static_cast<long long>(size));
  return index < 0 ? index + size : index;
}

// ONNX's GatherElements as flat indices into `dims`: the position of each index, with the index itself along `axis`.
std::vector<int64_t> elements_along(const Op& op, const Dims& dims, const Array& indices, int axis) {
  if (indices.dims.size() != dims.size())
    op.refuse("indices %s for data %s", to_string(indices.dims).c_str(), to_string(dims).c_str());
  const auto at = static_cast<size_t>(axis);
  const Dims strides = strides_of(dims), own = strides_of(indices.dims);
  for (size_t d = 0; d < dims.size(); ++d)
    if (d != at && indices.dims[d] > dims[d])
      op.refuse("indices %s for data %s", to_string(indices.dims).c_str(), to_string(dims).c_str());
  std::vector<int64_t> elements = indices.ints();
  for (size_t i = 0; i < elements.size(); ++i) {
    int64_t element = position_of(op, elements[i], dims[at]) * strides[at];
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != at) element += static_cast<int64_t>(i) / own[d] % indices.dims[d] * strides[d];
    elements[i] = element;
  }
  return elements;
}

// GatherND as flat indices: the offset of the row that each index tuple in `indices` [...,K] selects from dimension
// `first` of `dims` on, relative to the leading dimensions.
std::vector<int64_t> row_starts(const Op& op, const Dims& dims, const Array& indices, size_t first) {
  const auto depth = static_cast<size_t>(indices.dims.empty() ? 0 : indices.dims.back());
  if (indices.dims.empty() || first + depth > dims.size())
    op.refuse("indices %s for data %s", to_string(indices.dims).c_str(), to_string(dims).c_str());
  const Dims strides = strides_of(dims);
  const std::vector<int64_t> positions = indices.ints();
  std::vector<int64_t> starts(static_cast<size_t>(count_elements(Dims(indices.dims.begin(), indices.dims.end() - 1))));
  for (size_t r = 0; r < starts.size(); ++r)
    for (size_t d = 0; d < depth; ++d)
      starts[r] += position_of(op, positions[r * depth + d], dims[first + d]) * strides[first + d];
  return starts;
}

int64_t reduced(const std::string& how, int64_t a, int64_t b) {
  if (how == "add") return a + b;
  if (how == "mul") return a * b;
  return how == "max" ? std::max(a, b) : std::min(a, b);
}

double reduced(const std::string& how, double a, double b) {
  if (how == "add") return a + b;
  if (how == "mul") return a * b;
  return how == "max" ? std::max(a, b) : std::min(a, b);
}

template <typename T>
Array scattered(const Array& data, std::vector<T> values, const std::vector<T>& updates, const std::vector<int64_t>& to,
                const std::string& how) {
  for (size_t i = 0; i < to.size(); ++i) {
    T& value = values[static_cast<size_t>(to[i])];
    value = reduced(how, value, updates[i]);
  }
  return make_array(data.type, data.dims, values);
}

// Writes update i to element to[i] of the data, for constant indices.
void scatter_known(Op& op, const std::vector<int64_t>& to) {
  const Array &data = op.array(0, "data"), &updates = op.array(2, "updates");
  if (updates.elements() != static_cast<int64_t>(to.size())) op.refuse("updates do not fit the indices");
  const std::string how = op.text("reduction", "none");
  if (how != "none")
    return op.set(is_float(data.type) ? scattered(data, data.floats(), updates.floats(), to, how)
                                      : scattered(data, data.ints(), updates.ints(), to, how));
  // The source of each element in the concatenation of data and updates.
  std::vector<int64_t> source(static_cast<size_t>(count_computed(data.dims)));
  std::iota(source.begin(), source.end(), 0);
  for (size_t i = 0; i < to.size(); ++i) source[static_cast<size_t>(to[i])] = data.elements() + static_cast<int64_t>(i);
  if (data.type != updates.type) op.refuse("data and updates are of different types");
  auto bytes = std::make_shared<std::vector<std::byte>>(data.data.bytes.begin(), data.data.bytes.end());
  bytes->insert(bytes->end(), updates.data.bytes.begin(), updates.data.bytes.end());
  const std::span<const std::byte> all(*bytes);
  op.set(gather_elements(Array{data.type, {data.elements() + updates.elements()}, {std::move(bytes), all}}, data.dims,
                         source));
}

fbs::ScatterKind scatter_kind(const Op& op) {
  const std::string how = op.text("reduction", "none");
  if (how == "none") return fbs::ScatterKind::Set;
  if (how == "add") return fbs::ScatterKind::Add;
  if (how == "mul") return fbs::ScatterKind::Mul;
  if (how == "max") return fbs::ScatterKind::Max;
  if (how == "min") return fbs::ScatterKind::Min;
  op.refuse("attribute 'reduction' is '%s', expected none, add, mul, max or min", how.c_str());
}

void scatter(Op& op, fbs::GatherKind where, int axis) {
  fbs::ScatterT params;
  params.where = where;
  params.axis = axis;
  params.kind = scatter_kind(op);
  if (op.known(1) && op.array(1, "indices").elements() == 0) return op.set(op.value(0));
  op.set(wrapped(op.graph().add_op("", params, {op.tensor(0), op.tensor(1), op.tensor(2)}), op.type(0)), op.type(0));
}

void gather_at_run_time(Op& op, fbs::GatherKind kind, int axis) {
  fbs::GatherT params;
  params.kind = kind;
  params.axis = axis;
  op.set(op.graph().add_op("", params, {op.tensor(0), op.tensor(1)}), op.type(0));
}

}  // namespace

void gather(Op& op) {
  const Dims dims = op.dims(0);
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  if (!op.known(1)) return gather_at_run_time(op, fbs::GatherKind::Slices, axis);
  const Array& indices = op.array(1, "indices");
  const int64_t size = dims[static_cast<size_t>(axis)];
  std::vector<int64_t> positions = indices.ints();
  for (int64_t& position : positions) position = position_of(op, position, size);
  Dims to(dims.begin(), dims.begin() + axis);
  to.insert(to.end(), indices.dims.begin(), indices.dims.end());
  to.insert(to.end(), dims.begin() + axis + 1, dims.end());
  const Value picked = pick(op, op.value(0), axis, positions);
  if (const Array* array = std::get_if<Array>(&picked))
    op.set(array->reshaped(to));
  else
    op.set(reshape_to(std::get<Tensor>(picked), to));
}

void gather_elements(Op& op) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  if (!op.known(1)) return gather_at_run_time(op, fbs::GatherKind::Elements, axis);
  const Array& indices = op.array(1, "indices");
  const std::vector<int64_t> elements = elements_along(op, op.dims(0), indices, axis);
  if (!op.known(0)) return gather_at_run_time(op, fbs::GatherKind::Elements, axis);
  op.set(gather_elements(op.array(0, "data"), indices.dims, elements));
}

void gather_nd(Op& op) {
  const Dims dims = op.dims(0);
  const int64_t batch = op.integer("batch_dims", 0);
  if (!op.known()) return gather_at_run_time(op, fbs::GatherKind::Tuples, to_int32({batch})[0]);
  const Array& indices = op.array(1, "indices");
  if (batch < 0 || batch >= std::min(op.rank(0), op.rank(1)))
    op.refuse("attribute 'batch_dims' is %lld", static_cast<long long>(batch));
  const std::vector<int64_t> starts = row_starts(op, dims, indices, static_cast<size_t>(batch));
  const auto tail = dims.begin() + batch + indices.dims.back();
  const int64_t row = count_elements(Dims(tail, dims.end()));
  const int64_t samples = count_elements(Dims(dims.begin(), dims.begin() + batch));
  const int64_t sample = count_elements(Dims(dims.begin() + batch, dims.end()));
  if (Dims(indices.dims.begin(), indices.dims.begin() + batch) != Dims(dims.begin(), dims.begin() + batch))
    op.refuse("indices %s for data %s", to_string(indices.dims).c_str(), to_string(dims).c_str());
  Dims to(indices.dims.begin(), indices.dims.end() - 1);
  to.insert(to.end(), tail, dims.end());
  std::vector<int64_t> index;
  index.reserve(static_cast<size_t>(count_computed(to)));
  for (size_t r = 0; r < starts.size(); ++r) {
    const int64_t of = static_cast<int64_t>(r) / (static_cast<int64_t>(starts.size()) / samples);
    for (int64_t i = 0; i < row; ++i) index.push_back(of * sample + starts[r] + i);
  }
  op.set(gather_elements(op.array(0, "data"), to, index));
}

void scatter_elements(Op& op) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  if (!op.known()) return scatter(op, fbs::GatherKind::Elements, axis);
  scatter_known(op, elements_along(op, op.dims(0), op.array(1, "indices"), axis));
}

bool scatters_rows(const Op& op) {
  const Dims dims = op.dims(0), indices = op.dims(1), rows = op.dims(3);
  for (size_t d = 1; d < op.counted(1).sizes.size(); ++d)
    if (op.counted(1).sizes[d]) return false;
  return !op.known(1) && !op.known(3) && dims.size() > 1 && rows.size() == dims.size() && indices == op.dims(2) &&
         op.axis(op.integer("axis", 0), op.rank(0)) == 0 && rows[0] == indices[0] && count_elements(rows) == rows[0] &&
         indices.size() == dims.size() && std::equal(dims.begin() + 1, dims.end(), indices.begin() + 1);
}

void ferry_scatter_rows(Op& op) {
  if (!scatters_rows(op)) return scatter_elements(op);
  op.replace_input(1, reshape_to(op.tensor(3), {op.dims(3)[0], 1}));
  scatter(op, fbs::GatherKind::Tuples, 0);
}

void scatter_nd(Op& op) {
  if (!op.known()) return scatter(op, fbs::GatherKind::Tuples, 0);
  const Dims dims = op.dims(0);
  const Array& indices = op.array(1, "indices");
  const std::vector<int64_t> starts = row_starts(op, dims, indices, 0);
  const int64_t row = count_elements(Dims(dims.begin() + indices.dims.back(), dims.end()));
  std::vector<int64_t> to;
  for (const int64_t start : starts)
    for (int64_t i = 0; i < row; ++i) to.push_back(start + i);
  scatter_known(op, to);
}

}  // namespace ferry::onnx
