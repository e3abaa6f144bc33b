#include "converter/onnx/op.h"

#include <algorithm>
#include <cstdarg>
#include <limits>
#include <numeric>

#include "converter/onnx/integers.h"

namespace ferry::onnx {

bool Op::known() const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (has(i) && !known(i)) return false;
  return true;
}

const std::string& Op::input_name(size_t i) const {
  if (!has(i)) refuse("input %zu is missing", i);
  return node_.inputs[i];
}

const Array& Op::array(size_t i, const char* what) const {
  if (!has(i)) refuse("%s (input %zu) is missing", what, i);
  if (const auto open = open_.find(i); open != open_.end()) return open->second.at_these;
  if (!known(i)) refuse("%s '%s' depends on the graph's inputs, expected a constant", what, node_.inputs[i].c_str());
  return std::get<Array>(inputs_[i]);
}

Tensor Op::tensor(size_t i) {
  value(i);
  if (Tensor* tensor = std::get_if<Tensor>(&inputs_[i])) {
    if (is_int8(*tensor)) *tensor = as_int32(*tensor, types_[i]);
    return *tensor;
  }
  const Array& array = std::get<Array>(inputs_[i]);
  const auto [made, fresh] = constants_.try_emplace(i);
  if (fresh) made->second = add_constant(graph_, node_.inputs[i], known() ? cast(array, Type::Float64) : array);
  return made->second;
}

Tensor Op::floating(size_t i) { return cast_to(tensor(i), fbs::DType::Float32); }

const Value& Op::value(size_t i) {
  if (!has(i)) refuse("input %zu is missing", i);
  if (const auto open = open_.find(i); open != open_.end() && std::holds_alternative<Array>(inputs_[i]))
    inputs_[i] = open->second.compute();
  return inputs_[i];
}

void Op::compute_in_run(size_t i, std::function<std::vector<bool>()> varying, std::function<Tensor()> compute) {
  open_[i] = {std::get<Array>(inputs_[i]), std::move(varying), std::move(compute)};
}

bool Op::varies(size_t i, size_t element) const {
  const auto open = open_.find(i);
  if (open == open_.end()) return false;
  const std::vector<bool> varying = open->second.varying();
  return element < varying.size() && varying[element];
}

double Op::single(size_t i, const char* what) const {
  const std::vector<double> values = array(i, what).floats();
  if (values.size() != 1) refuse("%s has %zu values, expected one", what, values.size());
  return values[0];
}

Dims Op::dims(size_t i) const {
  if (!has(i)) refuse("input %zu is missing", i);
  if (const Tensor* tensor = std::get_if<Tensor>(&inputs_[i])) return dims_of(*tensor);
  return std::get<Array>(inputs_[i]).dims;
}

Type Op::type(size_t i) const {
  if (!has(i)) refuse("input %zu is missing", i);
  return types_[i];
}

const Attribute* Op::attribute(const std::string& name, Attribute::Kind kind) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) return nullptr;
  if (found->second.kind != kind) refuse("attribute '%s' has another type than expected", name.c_str());
  return &found->second;
}

int64_t Op::declared_size(size_t dimension) const {
  const bool stated = !node_.declared.empty() && dimension < node_.declared[0].size();
  return stated ? node_.declared[0][dimension] : -1;
}

int64_t Op::integer(const std::string& name, int64_t otherwise) const {
  const Attribute* found = attribute(name, Attribute::Kind::Int);
  return found ? found->ints.front() : otherwise;
}

double Op::number(const std::string& name, double otherwise) const {
  const Attribute* found = attribute(name, Attribute::Kind::Float);
  return found ? found->floats.front() : otherwise;
}

std::string Op::text(const std::string& name, const std::string& otherwise) const {
  const Attribute* found = attribute(name, Attribute::Kind::String);
  return found ? found->strings.front() : otherwise;
}

std::vector<int64_t> Op::integers(const std::string& name, const std::vector<int64_t>& otherwise) const {
  const Attribute* found = attribute(name, Attribute::Kind::Ints);
  return found ? found->ints : otherwise;
}

std::vector<double> Op::numbers(const std::string& name) const {
  const Attribute* found = attribute(name, Attribute::Kind::Floats);
  return found ? found->floats : std::vector<double>{};
}

const Array& Op::constant(const std::string& name) const {
  const Attribute* found = attribute(name, Attribute::Kind::Tensor);
  if (!found) refuse("attribute '%s' is missing", name.c_str());
  return found->tensor;
}

void Op::reshape_input(size_t i, const Dims& to) {
  if (const Tensor* tensor = std::get_if<Tensor>(&inputs_[i]))
    inputs_[i] = reshape_to(*tensor, to);
  else
    inputs_[i] = std::get<Array>(inputs_[i]).reshaped(to);
}

std::optional<std::vector<int64_t>> Op::input_or_attribute(size_t i, const std::string& name) const {
  if (has(i)) return array(i, name.c_str()).ints();
  if (has_attribute(name)) return integers(name);
  return {};
}

int Op::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    refuse("axis %lld is outside the %d dimensions", static_cast<long long>(axis), rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> Op::axes(const std::vector<int64_t>& list, int rank) const {
  std::vector<int> axes;
  for (const int64_t a : list) {
    axes.push_back(axis(a, rank));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) refuse("axis %d is named twice", axes.back());
  }
  return axes;
}

void Op::set(size_t i, Value value, Type type) {
  if (!wants(i)) return;
  outputs_[i] = std::move(value);
  output_types_[i] = type;
}

Type Op::output_type(size_t i) const {
  if (const Array* array = std::get_if<Array>(&outputs_[i])) return array->type;
  const bool absent = std::holds_alternative<Unknown>(outputs_[i]) || std::holds_alternative<Absent>(outputs_[i]);
  if (output_types_[i] != Type::Undefined || absent) return output_types_[i];
  if (const Sequence* sequence = std::get_if<Sequence>(&outputs_[i])) return (*sequence)->type;
  if (known()) return has(0) ? types_[0] : Type::Float32;
  const bool floating = std::get<Tensor>(outputs_[i]).dtype() == fbs::DType::Float32;
  for (size_t k = 0; k < inputs_.size(); ++k)
    if (has(k) && is_float(types_[k]) == floating) return types_[k];
  return floating ? Type::Float32 : Type::Int64;
}

const Counted& Op::counted(size_t i) const {
  static const Counted kKnown;
  return i < counted_.size() ? counted_[i] : kKnown;
}

void Op::set_counts(size_t i, std::vector<std::optional<Tensor>> sizes) {
  if (!wants(i)) return;
  const bool any = std::any_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.has_value(); });
  const Array* known = std::get_if<Array>(&outputs_[i]);
  const size_t rank = !any ? 0 : known ? known->dims.size() : dims_of(std::get<Tensor>(outputs_[i])).size();
  if (any && sizes.size() != rank) refuse("counts of %zu dimensions for a result of %zu", sizes.size(), rank);
  outputs_counted_[i].sizes = any ? std::move(sizes) : std::vector<std::optional<Tensor>>();
}

void Op::set_in_run(size_t i, Array least, Tensor in_run) {
  outputs_counted_[i].least = std::move(least);
  outputs_counted_[i].in_run = in_run;
}

std::vector<std::optional<Tensor>> Op::elements_in_run(size_t i) const {
  const std::vector<double> most = std::get<Array>(inputs_[i]).floats();
  std::vector<std::optional<Tensor>> elements(most.size());
  if (!counted(i).least) return elements;
  const std::vector<double> least = counted(i).least->floats();
  const Tensor all = reshape_to(*counted(i).in_run, {static_cast<int64_t>(most.size())});
  for (size_t e = 0; e < most.size(); ++e)
    if (most[e] != least[e]) elements[e] = slice(all, 0, static_cast<int>(e), 1);
  return elements;
}

Op Op::at_counts(bool of_run) const {
  Op op(node_, graph_, inputs_, types_, decoder_);
  for (size_t i = 0; i < counted_.size(); ++i) {
    if (!counted_[i].least) continue;
    if (of_run)
      op.inputs_[i] = *counted_[i].in_run;
    else
      op.inputs_[i] = *counted_[i].least;
  }
  return op;
}

void Op::use_sizes_in_run() {
  for (size_t i = 0; i < counted_.size(); ++i)
    if (counted_[i].least) inputs_[i] = *counted_[i].in_run;
}

void Op::refuse(const char* format, ...) const {
  va_list arguments;
  va_start(arguments, format);
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw Error(text);
}

Dims dims_of(Tensor x) {
  const Shape shape = x.shape();
  return Dims(shape.dims.begin(), shape.dims.begin() + shape.rank);
}

std::vector<int32_t> to_int32(const std::vector<int64_t>& list) {
  std::vector<int32_t> out;
  for (const int64_t v : list) {
    if (v < std::numeric_limits<int32_t>::min() || v > std::numeric_limits<int32_t>::max())
      fail("%lld is beyond 32 bits", static_cast<long long>(v));
    out.push_back(static_cast<int32_t>(v));
  }
  return out;
}

Tensor reshape_to(Tensor x, const Dims& dims) {
  if (dims_of(x) == dims) return x;
  if (dims.size() > FERRY_MAX_RANK) fail("%s has more than %d dimensions", to_string(dims).c_str(), FERRY_MAX_RANK);
  if (count_elements(dims) == 0) fail("%s has no elements", to_string(dims).c_str());
  return reshape(x, to_int32(dims));
}

fbs::DType to_dtype(Type type) {
  switch (type) {
    case Type::Float32: return fbs::DType::Float32;
    case Type::Float16: return fbs::DType::Float16;
    case Type::Float64: return fbs::DType::Float64;
    case Type::BFloat16: return fbs::DType::BFloat16;
    case Type::Int8: return fbs::DType::Int8;
    case Type::Int16: return fbs::DType::Int16;
    case Type::Int32: return fbs::DType::Int32;
    case Type::Int64: return fbs::DType::Int64;
    case Type::UInt8: return fbs::DType::UInt8;
    case Type::UInt16: return fbs::DType::UInt16;
    case Type::UInt32: return fbs::DType::UInt32;
    case Type::UInt64: return fbs::DType::UInt64;
    case Type::Bool: return fbs::DType::Bool;
    default: break;
  }
  fail("activations of type %s are not supported", type_name(type).c_str());
}

Tensor wrapped(Tensor x, Type type) {
  const bool narrow = !is_float(type) && type != Type::Bool && type_size(type) < 4;
  return narrow && x.dtype() == fbs::DType::Int32 ? cast_to(x, to_dtype(type)) : x;
}

Tensor to_channels_last(Tensor x) { return transpose(x, {0, 2, 3, 1}); }
Tensor to_channels_first(Tensor x) { return transpose(x, {0, 3, 1, 2}); }

Tensor swap_with_last(Tensor x, int axis) {
  const int rank = x.shape().rank;
  if (axis == rank - 1) return x;
  std::vector<int32_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  return transpose(x, perm);
}

Tensor add_constant(Graph& graph, const std::string& name, const Array& array) {
  const std::vector<int32_t> dims = to_int32(array.dims);
  if (dims.size() > FERRY_MAX_RANK)
    fail("constant %s has more than %d dimensions", to_string(array.dims).c_str(), FERRY_MAX_RANK);
  if (array.elements() == 0)
    fail("constant '%s' of shape %s has no elements", name.c_str(), to_string(array.dims).c_str());
  Shape shape;
  for (const int32_t d : dims) shape[shape.rank++] = d;
  if (array.type == Type::Float32) return graph.add_constant(name, fbs::DType::Float32, shape, array.data);
  if (is_float(array.type)) return graph.add_constant(name, shape, array.floats());
  return graph.add_constant(name, shape, to_int32(array.ints()));
}

}  // namespace ferry::onnx
