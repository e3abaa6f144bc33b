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
  std::vector<Unrepeated> wholes;
  for (const Array* array : arrays_of(name)) {
    if (!array || array->dims.size() > FERRY_MAX_RANK) return false;
    wholes.push_back(whole(*array));
    if (wholes.back().shape.rank != wholes[0].shape.rank) return false;
  }
  std::vector<int> repeating, growing;
  for (int d = 0; d < wholes[0].shape.rank; ++d) {
    const auto is_same = [&](const Unrepeated& w) { return w.shape[d] == wholes[0].shape[d]; };
    const auto repeats = [&](const Unrepeated& w) { return hold_once(w.values, w.shape, {d}).alike; };
    if (std::all_of(wholes.begin(), wholes.end(), is_same)) continue;
    (std::all_of(wholes.begin(), wholes.end(), repeats) ? repeating : growing).push_back(d);
  }
  if (growing.size() > 1) return false;
  std::vector<Unrepeated> once;
  for (const Unrepeated& w : wholes) once.push_back(hold_once(w.values, w.shape, repeating));
  return std::all_of(once.begin(), once.end(), [&](const Unrepeated& other) {
    return is_leading_part(other, once[0]) || is_leading_part(once[0], other);
  });
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
