#include "converter/tflite/custom_options.h"

#include <flatbuffers/flexbuffers.h>

#include <cmath>

namespace ferry::tflite {
namespace {

flexbuffers::Reference value_of(const std::vector<uint8_t>& bytes, const char* name) {
  return flexbuffers::GetRoot(bytes).AsMap()[name];
}

}  // namespace

CustomOptions::CustomOptions(const Op& op) : op_(op), bytes_(op.custom_options().begin(), op.custom_options().end()) {
  constexpr size_t kSmallest = 3;  // bytes: a value, its type and its width
  if (bytes_.size() < kSmallest || !flexbuffers::VerifyBuffer(bytes_.data(), bytes_.size()) ||
      !flexbuffers::GetRoot(bytes_).IsMap())
    op.refuse("its options are no map");
}

bool CustomOptions::has(const char* name) const { return !value_of(bytes_, name).IsNull(); }

bool CustomOptions::flag(const char* name) const { return value_of(bytes_, name).AsBool(); }

int CustomOptions::count(const char* name, int otherwise, int most) const {
  const flexbuffers::Reference value = value_of(bytes_, name);
  const int64_t number = value.IsNull() ? otherwise : value.AsInt64();
  if (number < 1 || number > most) op_.refuse("%s is %lld", name, static_cast<long long>(number));
  return static_cast<int>(number);
}

double CustomOptions::number(const char* name, double least) const {
  const double value = value_of(bytes_, name).AsDouble();
  if (!std::isfinite(value) || value < least) op_.refuse("%s is %g", name, value);
  return value;
}

int CustomOptions::index(const char* name, int below) const {
  const int64_t index = value_of(bytes_, name).AsInt64();
  if (index < 0 || index >= below) op_.refuse("%s is %lld of %d", name, static_cast<long long>(index), below);
  return static_cast<int>(index);
}

std::vector<int> CustomOptions::indices(const char* name, int below) const {
  const flexbuffers::TypedVector list = value_of(bytes_, name).AsTypedVector();
  op_.count_computed(static_cast<int64_t>(list.size()));
  std::vector<int> indices;
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t index = list[i].AsInt64();
    if (index < 0 || index >= below) op_.refuse("%s has %lld of %d", name, static_cast<long long>(index), below);
    indices.push_back(static_cast<int>(index));
  }
  return indices;
}

}  // namespace ferry::tflite
