#include "sdk/model/verify_ports.h"

#include <algorithm>
#include <memory>
#include <new>

#include "sdk/model/model.h"
#include "sdk/model/verify_meaning.h"

namespace ferry {

Status verify_name(const char* kind, uint32_t index, const flatbuffers::String* name) {
  if (name == nullptr || name->size() == 0) return error(FERRY_CORRUPT, "%s %u: has no name", kind, index);
  if (name->size() <= kMaxNameBytes && name->string_view().find('\0') == std::string_view::npos) return {};
  return error(FERRY_CORRUPT, "%s %u: a name of %u bytes, expected 1 to %u without a zero", kind, index, name->size(),
               kMaxNameBytes);
}

Status verify_unique_names(const char* kind, std::span<std::string_view> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return error(FERRY_CORRUPT, "graph: two %ss have the name '%.64s'", kind, twice->data());
}

// A counted tensor is compacted in place after a run, so nothing else may name it.
Status verify_counts(const fbs::Graph& graph) {
  const auto& outputs = *graph.outputs();
  const auto counted = [](const fbs::Port* port) { return port->is_count() || port->counts() != nullptr; };
  if (std::none_of(outputs.begin(), outputs.end(), counted)) return {};
  if (outputs.Get(0)->is_count()) return error(FERRY_CORRUPT, "output 0: is a count, expected an output before it");
  const std::unique_ptr<uint32_t[]> names(new (std::nothrow) uint32_t[count(graph.tensors())]());
  if (!names) return error(FERRY_OUT_OF_MEMORY, "no memory to verify %u tensors", count(graph.tensors()));
  for (const fbs::Port* port : *graph.inputs()) ++names[index_of(port->tensor())];
  for (const fbs::Port* port : outputs) ++names[index_of(port->tensor())];
  for (uint32_t i = 0; i < count(graph.taps()); ++i) ++names[index_of(graph.taps()->Get(i)->tensor())];
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const fbs::Port& port = *outputs.Get(i);
    const fbs::Tensor& held = *graph.tensors()->Get(index_of(port.tensor()));
    const char* name = port.name()->c_str();
    if (!port.is_count() && i > 0 && outputs.Get(i - 1)->is_count())
      return error(FERRY_CORRUPT, "output %u '%.64s': follows a count, expected counts last", i, name);
    if (port.is_count() && (held.dtype() != fbs::DType::Int32 || declared_shape(held).elements() != 1))
      return error(FERRY_CORRUPT, "output %u '%.64s': a count of %s %s, expected one Int32", i, name,
                   EnumNameDType(held.dtype()), in_words(declared_shape(held)).c_str());
    if (port.counts() == nullptr) continue;
    if (port.is_count() || port.counts()->size() != count(held.shape()))
      return error(FERRY_CORRUPT, "output %u '%.64s': %u counts for %u dimensions%s", i, name, port.counts()->size(),
                   count(held.shape()), port.is_count() ? " of a count" : "");
    for (const int32_t index : *port.counts())
      if (index < -1 || index >= static_cast<int32_t>(outputs.size()) ||
          (index >= 0 && !outputs.Get(static_cast<uint32_t>(index))->is_count()))
        return error(FERRY_CORRUPT, "output %u '%.64s': output %d is not a count", i, name, index);
    if (names[index_of(port.tensor())] > 1)
      return error(FERRY_CORRUPT, "output %u '%.64s': has counts, and is also an input, a tap or another output", i,
                   name);
  }
  return {};
}

}  // namespace ferry
