#include "cli/chat/line_view.h"

#include <wchar.h>

#include <algorithm>
#include <clocale>

#include "sdk/printable.h"
#include "sdk/text/utf8.h"

namespace ferry::cli {
namespace {

constexpr size_t kTab = 8;

// Columns of a character: 0 for combining ones, 2 for wide ones.
size_t width_of(Character character) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (character < 0x80 || utf8 == nullptr) return 1;  // also kNoCharacter: room for the cursor
  const locale_t before = uselocale(utf8);
  const int width = wcwidth(static_cast<wchar_t>(character));
  uselocale(before);
  return width < 0 ? 1 : static_cast<size_t>(width);
}

bool is_stray(Character character) { return character >= kStrayByte && character < kStrayByte + 0x100; }

}  // namespace

Layout lay_out(std::string_view prompt, std::string_view text, size_t cursor, size_t columns) {
  columns = std::max<size_t>(columns, 2);
  Layout out;
  out.rows.emplace_back(prompt.substr(0, columns - 1));
  const size_t indent = out.rows[0].size();
  size_t column = indent;
  const auto new_row = [&](size_t spaces) {
    out.rows.emplace_back(spaces, ' ');
    column = spaces;
  };
  for (size_t at = 0;;) {
    size_t bytes = 0;
    const Character character = character_at(text, at, &bytes);
    const bool control = character >= 0 && (character < 0x20 || character == 0x7f);
    const size_t width = character == '\t' ? kTab - column % kTab : control ? 2 : width_of(character);
    if (character != '\n' && column + width > columns) new_row(0);
    if (at == cursor) {
      out.cursor_row = out.rows.size() - 1;
      out.cursor_column = column;
    }
    if (character == kNoCharacter) return out;
    const std::string_view drawn = text.substr(at, bytes);
    at += bytes;
    if (character == '\n') {
      new_row(indent);
      continue;
    }
    if (character == '\t')
      out.rows.back().append(std::min(width, columns - column), ' ');
    else if (control)
      (out.rows.back() += '^') += static_cast<char>(drawn[0] ^ 0x40);
    else
      out.rows.back() +=
          is_stray(character) || steers(static_cast<uint32_t>(character)) ? kReplacementCharacter : drawn;
    column += width;
  }
}

void LineView::draw(std::string_view prompt, std::string_view text, size_t cursor) {
  if (!terminal_.moves_cursor()) return draw_plainly(prompt, text);
  Layout next = lay_out(prompt, text, cursor, terminal_.columns());
  const size_t height = std::max<size_t>(terminal_.rows(), 2);
  if (next.rows.size() > height) {
    const size_t first = std::min(next.cursor_row - std::min(next.cursor_row, height / 2), next.rows.size() - height);
    next.rows.erase(next.rows.begin() + static_cast<std::ptrdiff_t>(first + height), next.rows.end());
    next.rows.erase(next.rows.begin(), next.rows.begin() + static_cast<std::ptrdiff_t>(first));
    next.cursor_row -= first;
  }
  std::string out;
  const auto up = [&](size_t rows) {
    if (rows > 0) out += "\x1b[" + std::to_string(rows) + "A";
  };
  up(drawn_.cursor_row);
  out += "\r\x1b[J";
  for (size_t i = 0; i < next.rows.size(); ++i) out += (i > 0 ? "\n" : "") + next.rows[i];
  up(next.rows.size() - 1 - next.cursor_row);
  out += '\r';
  if (next.cursor_column > 0) out += "\x1b[" + std::to_string(next.cursor_column) + "C";
  terminal_.write(out);
  drawn_ = std::move(next);
}

// Appends what is new, or writes everything again on a line of its own.
void LineView::draw_plainly(std::string_view prompt, std::string_view text) {
  std::string whole(prompt);
  whole += text;
  if (whole.starts_with(plain_))
    terminal_.write(std::string_view(whole).substr(plain_.size()));
  else
    terminal_.write("\n" + whole);
  plain_ = std::move(whole);
}

void LineView::finish() {
  if (terminal_.moves_cursor() && !drawn_.rows.empty()) {
    const size_t down = drawn_.rows.size() - 1 - drawn_.cursor_row;
    if (down > 0) terminal_.write("\x1b[" + std::to_string(down) + "B");
  }
  terminal_.write("\n");
  plain_.clear();
  forget();
}

void LineView::clear_screen() {
  if (terminal_.moves_cursor()) terminal_.write("\x1b[H\x1b[2J");
  forget();
}

}  // namespace ferry::cli
