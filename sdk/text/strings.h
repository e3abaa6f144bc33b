// Strings of a flatbuffer, which may be absent.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string_view>

namespace ferry {

inline std::string_view view(const flatbuffers::String* text) {
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

}  // namespace ferry
