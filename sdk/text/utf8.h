// UTF-8 by character (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ferry {

// Replaces invalid bytes: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

inline constexpr int kIllFormed = 0;    // no character begins with these bytes
inline constexpr int kIncomplete = -1;  // a valid prefix, but `text` ends inside the character

// Size in bytes of the first character of `text`, which is not empty: 1 to 4, or one of the two constants.
int character_bytes(std::string_view text);

// Number of invalid bytes at the beginning of `text` that one U+FFFD replaces: a truncated character, or 1 (Unicode,
// "U+FFFD Substitution of Maximal Subparts").
size_t ill_formed_bytes(std::string_view text);

// A code point. A byte that belongs to no character is kStrayByte + the byte: a surrogate, which does not occur in
// UTF-8.
using Character = int32_t;
inline constexpr Character kNoCharacter = -1;  // the text begins or ends here
inline constexpr Character kStrayByte = 0xDC00;

// The character at `at` and its size in bytes; kNoCharacter at the end.
Character character_at(std::string_view text, size_t at, size_t* bytes);
// Size of the character that ends at `at`, which is not 0.
size_t bytes_before(std::string_view text, size_t at);
void append_character(Character character, std::string* text);

}  // namespace ferry
