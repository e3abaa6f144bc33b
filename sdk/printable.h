// Names, labels and sentences of unknown origin, for people. A file may put anything into them: escape sequences that
// rewrite a terminal, marks that reverse the direction of text, line ends that imitate other lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ferry {

enum class Printed {
  Line,  // one line: control characters, bidirectional marks and stray bytes become "\n", "\x1b", "\u202e", "\xff"
  Text,  // lines and tabs stay; the other ones are removed, and stray bytes become U+FFFD
  Json,  // of a JSON document: as "\u202e" in its strings
};

// Whether the character is a control of terminals (C0, DEL, C1), a line separator, or a mark that changes the direction
// of text.
bool steers(uint32_t character) noexcept;

// Writes whole characters of `text` into `room` bytes and returns their size. `out` null: counts. Allocates nothing.
size_t make_printable(std::string_view text, Printed as, char* out, size_t room) noexcept;

std::string printable(std::string_view text, Printed as = Printed::Line);

}  // namespace ferry
