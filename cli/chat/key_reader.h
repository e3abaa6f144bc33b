// The keys that a terminal's bytes stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ferry::cli {

struct Key {
  enum Kind {
    Text,  // typed or pasted; pasted newlines are "\n"
    Enter,
    NewLine,  // Alt-Enter: a newline within the text
    Backspace,
    Delete,
    DeleteWord,
    DeleteToBegin,
    DeleteToEnd,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
    EndOfInput,  // Ctrl-D
    ClearScreen,
  };
  Kind kind;
  std::string text = {};

  bool operator==(const Key&) const = default;
};

// Accepts bytes in pieces of any size: a sequence, a paste or a character may be cut anywhere.
class KeyReader {
 public:
  void append(std::string_view bytes) { bytes_ += bytes; }
  // The next key; nothing if its bytes are not complete. Unknown sequences are skipped.
  std::optional<Key> next();

 private:
  std::optional<Key> escaped();
  std::optional<Key> pasted();

  std::string bytes_;
  bool pasting_ = false;
  size_t searched_ = 0;  // bytes of a paste without its end mark
};

}  // namespace ferry::cli
