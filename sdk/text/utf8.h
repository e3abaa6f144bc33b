// UTF-8, character by character (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <string_view>

namespace ferry {

// What a character that could not be read is shown as: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

inline constexpr int kIllFormed = 0;    // no character begins like this
inline constexpr int kIncomplete = -1;  // one may, but `text` ends inside it

// How many bytes the first character of `text`, which is not empty, has: 1 to 4, or one of the two above.
int character_bytes(std::string_view text);

}  // namespace ferry
