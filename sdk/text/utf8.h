// UTF-8, character by character (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ferry {

// What a character that could not be read is shown as: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

inline constexpr int kIllFormed = 0;    // no character begins like this
inline constexpr int kIncomplete = -1;  // one may, but `text` ends inside it

// How many bytes the first character of `text`, which is not empty, has: 1 to 4, or one of the two above.
int character_bytes(std::string_view text);

// How many of the first bytes of `text`, with which no character begins, are the beginning of one, and 1 if none: what
// one U+FFFD stands for (Unicode, "U+FFFD Substitution of Maximal Subparts").
size_t ill_formed_bytes(std::string_view text);

// A text as characters. A byte that is part of none is one, too: kStrayByte + the byte, a surrogate, which no text
// in UTF-8 has.
using Character = int32_t;
inline constexpr Character kNoCharacter = -1;  // there is none: the text begins or ends here
inline constexpr Character kStrayByte = 0xDC00;

// The character at `at`, kNoCharacter at the end, and its size in bytes.
Character character_at(std::string_view text, size_t at, size_t* bytes);
// The size of the character that ends at `at`, which is not 0.
size_t bytes_before(std::string_view text, size_t at);
void append_character(Character character, std::string* text);

}  // namespace ferry
