#include "sdk/model/verify_names.h"

#include <algorithm>

#include "sdk/model/model.h"

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

}  // namespace ferry
