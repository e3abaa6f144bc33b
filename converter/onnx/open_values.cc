#include "converter/onnx/open_values.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "converter/onnx/unrepeated.h"
#include "sdk/operators/size_code.h"

namespace ferry::onnx {
namespace {

Unrepeated whole(const Array& array) {
  Shape shape;
  for (const int64_t d : array.dims) shape[shape.rank++] = static_cast<int32_t>(d);
  return {.shape = shape, .values = array.floats()};
}

}  // namespace

void OpenValues::add(const Shapes& inputs, const Known& known) {
  kinds_.clear();
  constexpr int64_t kSmall = 1 << 18;
  inputs_.push_back(inputs);
  std::map<std::string, Seen>& all = known_.emplace_back();
  const auto* before = known_.size() > 1 ? &known_[known_.size() - 2] : nullptr;
  for (const auto& [name, array] : known) {
    const Constant bytes = array.data.read();
    const std::string_view text(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size());
    const size_t hash = std::hash<std::string_view>()(text) + static_cast<size_t>(array.type);
    if (bytes.done) bytes.done();
    if (before)  // most are the same as before: their bytes are held once
      if (const auto same = before->find(name);
          same != before->end() && same->second.hash == hash && same->second.dims == array.dims) {
        all[name] = same->second;
        continue;
      }
    all[name] = {array.dims, hash, {}};
    if (array.elements() <= kSmall) all[name].small = array;
  }
}

bool OpenValues::empty() const {
  return std::all_of(known_.begin(), known_.end(), [](const auto& known) { return known.empty(); });
}

std::vector<const OpenValues::Seen*> OpenValues::seen_of(const std::string& name) const {
  std::vector<const Seen*> values;
  for (const auto& known : known_) {
    const auto found = known.find(name);
    values.push_back(found == known.end() ? nullptr : &found->second);
  }
  return values;
}

OpenValues::Kind OpenValues::kind_of(const std::string& name) const {
  const auto [known, fresh] = kinds_.try_emplace(name, Kind::Computed);
  if (fresh) {
    const std::vector<const Seen*> values = seen_of(name);
    if (!varies(values))
      known->second = Kind::Same;
    else if (is_size(values))
      known->second = Kind::Size;
    else if (is_table(values))
      known->second = Kind::Table;
  }
  return known->second;
}

bool OpenValues::varies(const std::vector<const Seen*>& values) const {
  if (std::count(values.begin(), values.end(), nullptr) > 0) return false;
  return std::any_of(values.begin(), values.end(), [&](const Seen* value) {
    return value->dims != values[0]->dims || value->hash != values[0]->hash;
  });
}

std::vector<bool> OpenValues::varying(const std::string& name) const {
  std::vector<std::vector<double>> values;
  for (const Seen* seen : seen_of(name)) {
    if (!seen || !seen->small) return {};
    values.push_back(seen->small->floats());
    if (values.back().size() != values[0].size()) return {};
  }
  std::vector<bool> varying(values[0].size());
  for (const std::vector<double>& other : values)
    for (size_t i = 0; i < varying.size(); ++i) varying[i] = varying[i] || other[i] != values[0][i];
  return varying;
}

bool OpenValues::is_table(const std::vector<const Seen*>& values) const {
  std::vector<Unrepeated> wholes;
  for (const Seen* seen : values) {
    if (!seen->small || seen->dims.size() > FERRY_MAX_RANK) return false;
    wholes.push_back(whole(*seen->small));
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

bool OpenValues::is_size(const std::vector<const Seen*>& seen_values) const {
  constexpr int32_t kMaxDivisor = 32;
  std::vector<int32_t> values;
  for (const Seen* seen : seen_values) {
    if (!seen->small || seen->small->elements() != 1) return false;
    const double value = seen->small->floats().front();
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
