// Part of verify(): names of ports, states and graphs; outputs whose sizes a run sets.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// 1 to kMaxNameBytes bytes without a zero. `kind` ("input", "state"...) and `index` are for the message.
Status verify_name(const char* kind, uint32_t index, const flatbuffers::String* name);

// Checks Port.counts and Port.is_count of the outputs. Requires verified ports. FERRY_CORRUPT, FERRY_OUT_OF_MEMORY.
Status verify_counts(const fbs::Graph& graph);

// No name occurs twice. Sorts `names`.
Status verify_unique_names(const char* kind, std::span<std::string_view> names);

// The same for the flatbuffer strings name(0) to name(count - 1), which have passed verify_name().
template <typename NameOf>
Status verify_unique_names(const char* kind, uint32_t count, const NameOf& name) {
  if (count < 2) return {};
  std::unique_ptr<std::string_view[]> names(new (std::nothrow) std::string_view[count]);
  if (!names) return error(FERRY_OUT_OF_MEMORY, "no memory to verify %u names", count);
  for (uint32_t i = 0; i < count; ++i) names[i] = name(i)->string_view();
  return verify_unique_names(kind, {names.get(), count});
}

}  // namespace ferry
