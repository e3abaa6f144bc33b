#include "sdk/text/utf8.h"

#include <cstdint>

namespace ferry {

int character_bytes(std::string_view text) {
  const auto byte = [&](int i) { return static_cast<uint8_t>(text[static_cast<size_t>(i)]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return kIllFormed;
  const int bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (int i = 1; i < bytes; ++i) {
    if (static_cast<size_t>(i) == text.size()) return kIncomplete;
    // The second byte's range is narrower after some first ones.
    const uint8_t low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high) return kIllFormed;
  }
  return bytes;
}

}  // namespace ferry
