#include "sdk/text/utf8.h"

#include <algorithm>

namespace ferry {

int character_bytes(std::string_view text) {
  const auto byte = [&](int i) { return static_cast<uint8_t>(text[static_cast<size_t>(i)]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return kIllFormed;
  const int bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (int i = 1; i < bytes; ++i) {
    if (static_cast<size_t>(i) == text.size()) return kIncomplete;
    // The second byte's range is narrower after some first bytes.
    const uint8_t low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high) return kIllFormed;
  }
  return bytes;
}

size_t ill_formed_bytes(std::string_view text) {
  size_t bytes = 1;
  while (bytes < text.size() && character_bytes(text.substr(0, bytes + 1)) == kIncomplete) ++bytes;
  return character_bytes(text.substr(0, 1)) == kIncomplete ? bytes : 1;
}

Character character_at(std::string_view text, size_t at, size_t* bytes) {
  *bytes = 0;
  if (at >= text.size()) return kNoCharacter;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  *bytes = 1;
  if (byte(0) < 0x80) return byte(0);
  const int size = character_bytes(text.substr(at));
  if (size <= 0) return kStrayByte + byte(0);
  *bytes = static_cast<size_t>(size);
  Character character = byte(0) & (0x7F >> size);
  for (size_t i = 1; i < *bytes; ++i) character = character << 6 | (byte(i) & 0x3F);
  return character;
}

size_t bytes_before(std::string_view text, size_t at) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(at, 4); ++bytes)
    if (character_bytes(text.substr(at - bytes, bytes)) == static_cast<int>(bytes)) return bytes;
  return 1;
}

void append_character(Character character, std::string* text) {
  const auto put = [text](int byte) { *text += static_cast<char>(byte); };
  if (character >= kStrayByte && character < kStrayByte + 256) return put(character - kStrayByte);
  if (character < 0x80) return put(character);
  const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  put(((0xF0 << (3 - more)) & 0xFF) | character >> (6 * more));
  for (int i = more - 1; i >= 0; --i) put(0x80 | ((character >> (6 * i)) & 0x3F));
}

}  // namespace ferry
