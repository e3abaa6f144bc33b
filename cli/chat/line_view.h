// Draws a prompt and the text that is being edited, on as many rows as they take.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/chat/terminal.h"

namespace ferry::cli {

// Rows of a screen, and the cursor's place in them.
struct Layout {
  std::vector<std::string> rows;
  size_t cursor_row = 0, cursor_column = 0;
};

// `text` behind `prompt`, whose bytes are one column each; lines after a newline are indented by its width. Rows have
// at most `columns` columns. `cursor` is an index into `text`. Control characters are drawn as ^X, invalid bytes as
// U+FFFD.
Layout lay_out(std::string_view prompt, std::string_view text, size_t cursor, size_t columns);

class LineView {
 public:
  explicit LineView(const Terminal& terminal) : terminal_(terminal) {}

  // Replaces what was drawn before. Of a text with more rows than the screen, the part around the cursor is drawn.
  void draw(std::string_view prompt, std::string_view text, size_t cursor);
  // Ends the drawing below the text.
  void finish();
  // Begins anew, on an empty screen or below what others printed.
  void clear_screen();
  void forget() { drawn_ = {}; }

 private:
  void draw_plainly(std::string_view prompt, std::string_view text);

  const Terminal& terminal_;
  Layout drawn_;       // the rows on the screen
  std::string plain_;  // the text on a terminal without cursor movement
};

}  // namespace ferry::cli
