#include "converter/tflite/op.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "converter/tflite/quantised.h"

namespace ferry::tflite {

void Values::set(int tensor, Tensor value) {
  const schema::Tensor& t = file_.tensor(tensor);
  // What is the same in every run is computed once, in full precision.
  const bool round = is_quantised(t) && !graph().is_constant(value.id);
  values_[static_cast<size_t>(tensor)] = round ? rounded(value, t) : value;
}

Tensor Values::get(int tensor) {
  tensor = named(tensor);
  std::optional<Tensor>& value = values_[static_cast<size_t>(tensor)];
  if (!value) value = constant(tensor, Half::Widen, &shared_.constants);
  return *value;
}

Tensor Values::constant(int tensor, Half half, std::map<std::pair<int, int>, Tensor>* kept) const {
  const std::pair<int, int> key(file_.subgraph, tensor);
  if (const auto found = kept->find(key); found != kept->end()) return found->second;
  return kept->emplace(key, add_constant(graph(), file_, tensor, half)).first->second;
}

Tensor Values::weight(int tensor) {
  tensor = named(tensor);
  const std::optional<Tensor>& value = values_[static_cast<size_t>(tensor)];
  if (value || file_.tensor(tensor).type() != schema::TensorType::FLOAT16) return get(tensor);
  return constant(tensor, Half::Keep, &shared_.float16_weights);
}

void Values::count_computed(int64_t elements) {
  const int64_t most = (int64_t{1} << 24) + 16 * static_cast<int64_t>(file_.mapped->bytes().size());
  if (elements > most - shared_.computed)
    fail("it computes constants of more than %lld elements", static_cast<long long>(most));
  shared_.computed += elements;
}

Passed Values::passed(int tensor) {
  if (is_handle(tensor)) return {{}, variable_of(tensor)};
  return {get(tensor)};
}

void Values::set_passed(int tensor, const Passed& passed) {
  if (passed.value)
    set(tensor, *passed.value);
  else
    set_handle(tensor, passed.variable);
}

bool Op::known(size_t i) const {
  return has(i) && !values_.is_handle(index(i)) &&
         (values_.is_constant(index(i)) || graph().is_constant(values_.get(index(i)).id));
}

bool Op::known() const {
  for (size_t i = 0; i < input_count(); ++i)
    if (has(i) && !known(i)) return false;
  return true;
}

Tensor Op::tensor(size_t i) const {
  if (!has(i)) refuse("input %zu is missing", i);
  return values_.get(index(i));
}

Tensor Op::weight(size_t i, const char* what) const {
  if (!has(i)) refuse("%s (input %zu) is missing", what, i);
  if (!known(i)) refuse("%s depends on the graph's inputs, expected a constant", what);
  return values_.weight(index(i));
}

std::vector<int64_t> Op::integers(size_t i, const char* what) const {
  if (!has(i)) refuse("%s (input %zu) is missing", what, i);
  const schema::Tensor& tensor = values_.file().tensor(index(i));
  if (is_float(tensor.type()) || tflite::is_quantised(tensor)) refuse("%s is %s", what, type_name(tensor.type()));
  if (values_.is_constant(index(i))) return integers_of(values_.file(), index(i));
  if (has_no_elements(tensor)) return {};
  if (!known(i)) refuse("%s depends on the graph's inputs, expected a constant", what);
  const std::vector<double> values = graph().values(values_.get(index(i)).id);
  return {values.begin(), values.end()};
}

int64_t Op::integer(size_t i, const char* what) const {
  const std::vector<int64_t> values = integers(i, what);
  if (values.size() != 1) refuse("%s has %zu elements, expected one", what, values.size());
  return values[0];
}

double Op::number(size_t i, const char* what) const {
  const Tensor value = weight(i, what);
  if (value.shape().elements() != 1) refuse("%s is %s, expected one element", what, to_string(value.shape()).c_str());
  return graph().values(value.id)[0];
}

schema::TensorType Op::type(size_t i) const {
  if (!has(i)) refuse("input %zu is missing", i);
  return values_.file().tensor(index(i)).type();
}

schema::TensorType Op::output_type(size_t i) const {
  if (i >= output_count()) refuse("output %zu is missing", i);
  return values_.file().tensor(op_.outputs()->Get(static_cast<unsigned>(i))).type();
}

bool Op::is_quantised(size_t i) const { return has(i) && tflite::is_quantised(values_.file().tensor(index(i))); }

bool Op::is_output_quantised(size_t i) const {
  return i < output_count() &&
         tflite::is_quantised(values_.file().tensor(op_.outputs()->Get(static_cast<unsigned>(i))));
}

void Op::set_handle(const std::string& name) const {
  if (output_count() != 1) refuse("it has %zu outputs, expected one", output_count());
  values_.set_handle(op_.outputs()->Get(0), name);
}

const std::string& Op::variable(size_t i) const {
  if (!has(i) || !values_.is_handle(index(i))) refuse("input %zu is no variable", i);
  return values_.variable_of(index(i));
}

Passed Op::passed(size_t i) const {
  if (!has(i)) refuse("input %zu is missing", i);
  return values_.passed(index(i));
}

void Op::set_passed(size_t i, const Passed& passed) const {
  values_.set_passed(op_.outputs()->Get(static_cast<unsigned>(i)), passed);
}

Tensor Op::state(size_t i) const {
  if (!has(i) || !values_.is_variable(index(i))) refuse("input %zu is no state", i);
  const File& file = values_.file();
  if (!values_.is_handle(index(i))) values_.set_handle(index(i), file.tensor_name(index(i)));
  return variables().read(values_.variable_of(index(i)), shape_of(file.tensor(index(i))));
}

Shape Op::output_shape(size_t i) const {
  if (i >= output_count()) refuse("output %zu is missing", i);
  return shape_of(values_.file().tensor(op_.outputs()->Get(static_cast<unsigned>(i))));
}

std::span<const uint8_t> Op::custom_options() const {
  if (count(op_.custom_options()) == 0) return {};
  return {op_.custom_options()->data(), op_.custom_options()->size()};
}

int Op::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) refuse("axis %lld is outside of %d dimensions", static_cast<long long>(axis), rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void Op::set(size_t i, Tensor value) {
  if (i >= output_count()) return;
  values_.set(op_.outputs()->Get(static_cast<unsigned>(i)), value);
}

void Op::set_alias() { values_.set_alias(op_.outputs()->Get(0), index(0)); }

void Op::refuse(const char* format, ...) const {
  va_list arguments;
  va_start(arguments, format);
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw Error(text);
}

std::vector<int32_t> dims_of(Tensor x) {
  const Shape shape = x.shape();
  return {shape.dims.begin(), shape.dims.begin() + shape.rank};
}

Tensor reshape_to(Tensor x, std::vector<int32_t> dims) {
  const std::vector<int32_t> from = dims_of(x);
  if (dims == from) return x;
  if (dims.size() > FERRY_MAX_RANK) fail("%zu dimensions, at most %d can be run", dims.size(), FERRY_MAX_RANK);
  if (!dims.empty() && !from.empty() && dims[0] == from[0]) dims[0] = 0;
  return reshape(x, dims);
}

Tensor pick(const Op& op, Tensor x, int axis, int64_t count, const std::function<int64_t(int64_t)>& index_of) {
  op.count_computed(count);
  std::vector<int32_t> indices;
  indices.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) indices.push_back(static_cast<int32_t>(index_of(i)));
  fbs::GatherT params;
  params.axis = axis;
  const Tensor list = x.graph->add_constant("", Shape{static_cast<int32_t>(indices.size())}, indices);
  return x.graph->add_op("", params, {x, list});
}

Tensor pad(Tensor x, const std::vector<int32_t>& before, const std::vector<int32_t>& after, double value) {
  const auto is_zero = [](int32_t n) { return n == 0; };
  if (std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero)) return x;
  fbs::PadT params;
  params.before = before;
  params.after = after;
  params.value = static_cast<float>(value);
  return x.graph->add_op("", params, {x});
}

Tensor activated(const Op& op, Tensor x, schema::ActivationFunctionType function) {
  switch (function) {
    case schema::ActivationFunctionType::NONE: return x;
    case schema::ActivationFunctionType::RELU: return relu(x);
    case schema::ActivationFunctionType::RELU_N1_TO_1: return clamp(x, -1, 1);
    case schema::ActivationFunctionType::RELU6: return relu6(x);
    case schema::ActivationFunctionType::TANH: return ferry::tanh(x);
    default: break;
  }
  op.refuse("its fused activation is number %d, expected none, RELU, RELU_N1_TO_1, RELU6 or TANH",
            static_cast<int>(function));
}

}  // namespace ferry::tflite
