// Reads lines from a terminal, with editing and history. Written here because no line editor in Debian that Ferry's
// licence permits knows bracketed paste: with libedit a paste of several lines becomes several lines of input.
#pragma once

#include <string>

#include "cli/chat/history.h"
#include "cli/chat/key_reader.h"
#include "cli/chat/line_view.h"
#include "cli/chat/terminal.h"

namespace ferry::cli {

class LineEditor {
 public:
  LineEditor(Terminal& terminal, History& history) : terminal_(terminal), history_(history), view_(terminal) {}

  enum class Result { Line, End, Interrupted };
  // Reads a line of any length; a pasted one may contain newlines, but none at its end. End: Ctrl-D on an empty line,
  // or the terminal is gone. Interrupted: Ctrl-C on an empty line; otherwise it clears the line.
  Result read(const std::string& prompt, std::string* line);

 private:
  // True: the line is complete.
  bool apply(const Key& key);
  void insert(const std::string& text);
  void remove(size_t begin, size_t end);
  void move_vertically(int lines);
  void recall(size_t index);
  size_t line_begin() const;
  size_t line_end() const;
  size_t word_begin() const;
  size_t word_end() const;
  size_t before() const;
  size_t behind() const;

  Terminal& terminal_;
  History& history_;
  LineView view_;
  KeyReader keys_;
  std::string text_, draft_;  // draft_: the new line, while an older one is shown
  size_t cursor_ = 0;
  size_t recalled_ = 0;  // index in the history; its size: the new line
};

}  // namespace ferry::cli
