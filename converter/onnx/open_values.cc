#include "converter/onnx/open_values.h"

#include <algorithm>

#include "converter/onnx/unrepeated.h"
#include "sdk/operators/size_code.h"

namespace ferry::onnx {
namespace {

bool equal(const Array& a, const Array& b) {
  if (a.type != b.type || a.dims != b.dims) return false;
  if (a.data.owner && a.data.owner == b.data.owner && a.data.bytes.data() == b.data.bytes.data()) return true;
  const Constant x = a.data.read(), y = b.data.read();
  return std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end());
}

Unrepeated whole(const Array& array) {
  Shape shape;
  for (const int64_t d : array.dims) shape[shape.rank++] = static_cast<int32_t>(d);
  return {.shape = shape, .values = array.floats()};
}

}  // namespace

void OpenValues::add(const Shapes& inputs, Known known) {
  inputs_.push_back(inputs);
  known_.push_back(std::move(known));
}

std::vector<const Array*> OpenValues::arrays_of(const std::string& name) const {
  std::vector<const Array*> arrays;
  for (const Known& known : known_) {
    const auto found = known.find(name);
    arrays.push_back(found == known.end() ? nullptr : &found->second);
  }
  return arrays;
}

bool OpenValues::varies(const std::string& name) const {
  const std::vector<const Array*> arrays = arrays_of(name);
  if (std::count(arrays.begin(), arrays.end(), nullptr) > 0) return false;
  return std::any_of(arrays.begin(), arrays.end(), [&](const Array* array) { return !equal(*array, *arrays[0]); });
}

std::vector<bool> OpenValues::varying(const std::string& name) const {
  std::vector<std::vector<double>> values;
  for (const Array* array : arrays_of(name)) {
    if (!array) return {};
    values.push_back(array->floats());
    if (values.back().size() != values[0].size()) return {};
  }
  std::vector<bool> varying(values[0].size());
  for (const std::vector<double>& other : values)
    for (size_t i = 0; i < varying.size(); ++i) varying[i] = varying[i] || other[i] != values[0][i];
  return varying;
}

bool OpenValues::is_table(const std::string& name) const {
  std::vector<const Array*> arrays = arrays_of(name);
  for (const Array* array : arrays)
    if (!array || array->dims.size() > FERRY_MAX_RANK || array->dims.size() != arrays[0]->dims.size()) return false;
  std::sort(arrays.begin(), arrays.end(), [](const Array* a, const Array* b) { return a->elements() < b->elements(); });
  for (size_t i = 1; i < arrays.size(); ++i)
    if (!is_leading_part(whole(*arrays[i]), whole(*arrays[i - 1]))) return false;
  return true;
}

bool OpenValues::is_size(const std::string& name) const {
  constexpr int32_t kMaxDivisor = 32;
  std::vector<int32_t> values;
  for (const Array* array : arrays_of(name)) {
    if (!array || array->elements() != 1) return false;
    const double value = array->floats().front();
    values.push_back(value >= 1 && value <= 1 << 24 ? static_cast<int32_t>(value) : 0);
    if (values.back() != value) return false;
  }
  for (const auto& [input, dims] : inputs_[0])
    for (size_t d = 0; d < dims.size(); ++d)
      for (int32_t divisor = 1; divisor <= kMaxDivisor; ++divisor)
        for (const bool up : {false, true}) {
          const SizeCode code{static_cast<int>(d), divisor, up};
          bool fits = true;
          for (size_t i = 0; i < values.size(); ++i)
            fits = fits && code.of(static_cast<int32_t>(inputs_[i].at(input)[d])) == values[i];
          if (fits) return true;
        }
  return false;
}

}  // namespace ferry::onnx
