// Code points of well-formed UTF-8, as Python counts characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry::jinja {

bool well_formed(std::string_view text);
// Size in bytes of the first, or last, character of the text, which is not empty.
size_t first_bytes(std::string_view text);
size_t last_bytes(std::string_view text);
uint32_t code_point(std::string_view character);
size_t count_characters(std::string_view text);
// Size in bytes of the first `characters` characters; of all if there are fewer.
size_t bytes_of(std::string_view text, size_t characters);

// Writes 1 to 4 bytes. Returns 0 for surrogates and codes above U+10FFFF.
size_t encode(uint32_t code, char* bytes);

inline bool is_digit(uint32_t code) { return code >= '0' && code <= '9'; }
bool is_space(uint32_t code);   // str.isspace()
bool ends_line(uint32_t code);  // str.splitlines(); "\r\n" is one line end
// Simple case mappings of Latin, Greek, Cyrillic and Armenian; other characters are unchanged.
uint32_t upper(uint32_t code);
uint32_t lower(uint32_t code);
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);

// str.strip() without an argument, at either end.
std::string_view strip(std::string_view text, bool left, bool right);

}  // namespace ferry::jinja
