#include "sdk/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace ferry {
namespace {

constexpr size_t kMaxGrowth = 6;  // a control character becomes \u001b in JSON

// The first character of `text`, and its size in bytes. A byte that begins none is given as itself, of size 0.
uint32_t first_character(std::string_view text, size_t* bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  *bytes = lead < 0x80                   ? 1
           : lead >= 0xf0 && lead < 0xf5 ? 4
           : lead >= 0xe0 && lead < 0xf0 ? 3
           : lead >= 0xc2 && lead < 0xe0 ? 2
                                         : 0;
  if (*bytes <= 1) return lead;
  uint32_t code = lead & (0x7fu >> *bytes);
  for (size_t i = 1; i < *bytes; ++i) {
    if (i == text.size() || (byte(i) & 0xc0) != 0x80) return *bytes = 0, lead;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kFirst[*bytes] || code > 0x10ffff || surrogate) return *bytes = 0, lead;
  return code;
}

// How the character is written, at most kMaxGrowth bytes; `stray`: it is a byte of no character.
size_t written(uint32_t c, bool stray, Printed as, char* out) {
  if (as == Printed::Text) {
    std::memcpy(out, "\xEF\xBF\xBD", 3);
    return stray ? 3 : 0;
  }
  const char* const known = as == Printed::Line ? std::strchr("\nn\tt\rr", static_cast<int>(c)) : nullptr;
  const char* const pattern = known != nullptr && c != 0        ? "\\%c"
                              : as == Printed::Json || c > 0xff ? "\\u%04x"
                                                                : "\\x%02x";
  char text[12];
  const int size = std::snprintf(text, sizeof text, pattern, pattern[1] == '%' ? static_cast<unsigned>(known[1]) : c);
  std::memcpy(out, text, static_cast<size_t>(size));
  return static_cast<size_t>(size);
}

}  // namespace

bool steers(uint32_t c) noexcept {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t make_printable(std::string_view text, Printed as, char* out, size_t room) noexcept {
  size_t size = 0;
  while (!text.empty()) {
    char unit[kMaxGrowth];
    size_t bytes = 0;
    const uint32_t c = first_character(text, &bytes);
    const bool kept =
        bytes > 0 && (!steers(c) || (c == '\n' && as != Printed::Line) || (c == '\t' && as == Printed::Text));
    const size_t more = kept ? bytes : written(c, bytes == 0, as, unit);
    if (more > room - size) break;
    if (out != nullptr) std::memcpy(out + size, kept ? text.data() : unit, more);
    size += more;
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return size;
}

std::string printable(std::string_view text, Printed as) {
  std::string out(text.size() * kMaxGrowth, '\0');
  out.resize(make_printable(text, as, out.data(), out.size()));
  return out;
}

}  // namespace ferry
