// Of verify(): names by which an app finds ports, states and graphs.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// 1 to kMaxNameBytes bytes without a zero. `kind`: "input", "state"...; for the message, as is `index`.
Status verify_name(const char* kind, uint32_t index, const flatbuffers::String* name);

// None of `names`, which are sorted for it, stands there twice.
Status verify_unique_names(const char* kind, std::span<std::string_view> names);

// The same for the flatbuffer strings name(0) to name(count - 1), which verify_name() has passed.
template <typename NameOf>
Status verify_unique_names(const char* kind, uint32_t count, const NameOf& name) {
  if (count < 2) return {};
  std::unique_ptr<std::string_view[]> names(new (std::nothrow) std::string_view[count]);
  if (!names) return error(FERRY_OUT_OF_MEMORY, "no memory to verify %u names", count);
  for (uint32_t i = 0; i < count; ++i) names[i] = name(i)->string_view();
  return verify_unique_names(kind, {names.get(), count});
}

}  // namespace ferry
