#include "sdk/text/template/characters.h"

#include "sdk/text/utf8.h"

namespace ferry::jinja {
namespace {

// A range of capital letters at a constant distance from their small letters.
struct Capitals {
  uint16_t first, last;
  uint8_t step;  // 2: capital and small letters alternate
  int16_t distance;
};
constexpr Capitals kCapitals[] = {
    {0x0041, 0x005A, 1, 32}, {0x00C0, 0x00D6, 1, 32}, {0x00D8, 0x00DE, 1, 32}, {0x0100, 0x012E, 2, 1},
    {0x0132, 0x0136, 2, 1},  {0x0139, 0x0147, 2, 1},  {0x014A, 0x0176, 2, 1},  {0x0178, 0x0178, 1, -121},
    {0x0179, 0x017D, 2, 1},  {0x01A0, 0x01A4, 2, 1},  {0x01AF, 0x01AF, 1, 1},  {0x01CD, 0x01DB, 2, 1},
    {0x01DE, 0x01EE, 2, 1},  {0x01F8, 0x021E, 2, 1},  {0x0386, 0x0386, 1, 38}, {0x0388, 0x038A, 1, 37},
    {0x038C, 0x038C, 1, 64}, {0x038E, 0x038F, 1, 63}, {0x0391, 0x03A1, 1, 32}, {0x03A3, 0x03AB, 1, 32},
    {0x0400, 0x040F, 1, 80}, {0x0410, 0x042F, 1, 32}, {0x0460, 0x0480, 2, 1},  {0x048A, 0x04BE, 2, 1},
    {0x04C0, 0x04C0, 1, 15}, {0x04C1, 0x04CD, 2, 1},  {0x04D0, 0x052E, 2, 1},  {0x0531, 0x0556, 1, 48},
    {0x1E00, 0x1E94, 2, 1},  {0x1EA0, 0x1EFE, 2, 1}};

bool within(uint32_t code, uint32_t first, const Capitals& run) {
  return code >= first && code <= first + (run.last - run.first) && (code - first) % run.step == 0;
}

}  // namespace

bool well_formed(std::string_view text) {
  while (!text.empty()) {
    const int bytes = character_bytes(text);
    if (bytes < 1) return false;
    text.remove_prefix(static_cast<size_t>(bytes));
  }
  return true;
}

size_t first_bytes(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

size_t last_bytes(std::string_view text) {
  size_t bytes = 1;
  while ((static_cast<uint8_t>(text[text.size() - bytes]) & 0xC0) == 0x80) ++bytes;
  return bytes;
}

uint32_t code_point(std::string_view character) {
  const size_t bytes = first_bytes(character);
  uint32_t code = static_cast<uint8_t>(character[0]) & (bytes == 1 ? 0x7F : 0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<uint8_t>(character[i]) & 0x3F);
  return code;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  return count;
}

size_t bytes_of(std::string_view text, size_t characters) {
  size_t at = 0;
  for (; characters > 0 && at < text.size(); --characters) at += first_bytes(text.substr(at));
  return at;
}

size_t encode(uint32_t code, char* bytes) {
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  if (code < 0x80) {
    bytes[0] = static_cast<char>(code);
    return 1;
  }
  const size_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = count; i-- > 1; code >>= 6) bytes[i] = static_cast<char>(0x80 | (code & 0x3F));
  bytes[0] = static_cast<char>((0xF00 >> count & 0xFF) | code);
  return count;
}

bool is_space(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

bool ends_line(uint32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

uint32_t lower(uint32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  for (const Capitals& run : kCapitals)
    if (within(code, run.first, run)) return code + static_cast<uint32_t>(run.distance);
  return code;
}

uint32_t upper(uint32_t code) {
  if (code < 0x80) return code >= 'a' && code <= 'z' ? code - 32 : code;
  for (const Capitals& run : kCapitals)
    if (within(code, static_cast<uint32_t>(run.first + run.distance), run))
      return code - static_cast<uint32_t>(run.distance);
  return code;
}

bool is_upper(uint32_t code) { return lower(code) != code; }
bool is_lower(uint32_t code) { return upper(code) != code || code == 0xDF; }

std::string_view strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty() && is_space(code_point(text))) text.remove_prefix(first_bytes(text));
  while (right && !text.empty() && is_space(code_point(text.substr(text.size() - last_bytes(text)))))
    text.remove_suffix(last_bytes(text));
  return text;
}

}  // namespace ferry::jinja
