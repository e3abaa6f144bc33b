#include "cli/chat/line_editor.h"

#include <algorithm>

#include "sdk/text/utf8.h"

namespace ferry::cli {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

LineEditor::Result LineEditor::read(const std::string& prompt, std::string* line) {
  text_.clear();
  draft_.clear();
  cursor_ = 0;
  recalled_ = history_.lines().size();
  bool drawn = false;
  terminal_.begin_prompt();
  for (;;) {
    while (const std::optional<Key> key = keys_.next()) {
      drawn = false;
      if (key->kind == Key::EndOfInput && text_.empty()) {
        view_.draw(prompt, text_, cursor_);
        view_.finish();
        return Result::End;
      }
      if (!apply(*key)) continue;
      view_.draw(prompt, text_, text_.size());
      view_.finish();
      while (text_.ends_with('\n')) text_.pop_back();
      history_.add(text_);
      *line = text_;
      return Result::Line;
    }
    // What is typed faster than it is drawn is drawn at once.
    if (!drawn && !terminal_.pending()) {
      view_.draw(prompt, text_, cursor_);
      drawn = true;
    }
    std::string bytes;
    switch (terminal_.read(&bytes)) {
      case Terminal::Event::Bytes: keys_.append(bytes); break;
      case Terminal::Event::End: view_.finish(); return Result::End;
      case Terminal::Event::Redraw: drawn = false; break;
      case Terminal::Event::Interrupted:
        keys_ = {};
        view_.finish();
        if (text_.empty()) return Result::Interrupted;
        text_.clear();
        cursor_ = 0;
        recalled_ = history_.lines().size();
        drawn = false;
        break;
    }
  }
}

bool LineEditor::apply(const Key& key) {
  switch (key.kind) {
    case Key::Text: insert(key.text); break;
    case Key::NewLine: insert("\n"); break;
    case Key::Enter: return true;
    case Key::Backspace: remove(before(), cursor_); break;
    case Key::EndOfInput:
    case Key::Delete: remove(cursor_, behind()); break;
    case Key::DeleteWord: remove(word_begin(), cursor_); break;
    case Key::DeleteToBegin: remove(line_begin(), cursor_); break;
    case Key::DeleteToEnd: remove(cursor_, line_end()); break;
    case Key::Left: cursor_ = before(); break;
    case Key::Right: cursor_ = behind(); break;
    case Key::WordLeft: cursor_ = word_begin(); break;
    case Key::WordRight: cursor_ = word_end(); break;
    case Key::Home: cursor_ = line_begin(); break;
    case Key::End: cursor_ = line_end(); break;
    case Key::Up: move_vertically(-1); break;
    case Key::Down: move_vertically(1); break;
    case Key::ClearScreen: view_.clear_screen(); break;
  }
  return false;
}

void LineEditor::insert(const std::string& text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

void LineEditor::remove(size_t begin, size_t end) {
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

// To the line above or below within the text, otherwise to an older or newer line of the history.
void LineEditor::move_vertically(int lines) {
  const size_t column = cursor_ - line_begin();
  if (lines < 0 && line_begin() > 0) {
    cursor_ = line_begin() - 1;
    cursor_ = std::min(line_begin() + column, cursor_);
  } else if (lines > 0 && line_end() < text_.size()) {
    cursor_ = line_end() + 1;
    cursor_ = std::min(cursor_ + column, line_end());
  } else if (lines < 0 && recalled_ > 0) {
    return recall(recalled_ - 1);
  } else if (lines > 0 && recalled_ < history_.lines().size()) {
    return recall(recalled_ + 1);
  }
  // not within a character
  while (cursor_ > 0 && cursor_ < text_.size() && (static_cast<unsigned char>(text_[cursor_]) & 0xc0) == 0x80)
    --cursor_;
}

void LineEditor::recall(size_t index) {
  const size_t newest = history_.lines().size();
  if (recalled_ == newest) draft_ = text_;
  text_ = index == newest ? draft_ : history_.lines()[index];
  recalled_ = index;
  cursor_ = text_.size();
}

size_t LineEditor::line_begin() const {
  const size_t newline = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}
size_t LineEditor::line_end() const { return std::min(text_.find('\n', cursor_), text_.size()); }

size_t LineEditor::word_begin() const {
  size_t at = cursor_;
  while (at > 0 && is_space(text_[at - 1])) --at;
  while (at > 0 && !is_space(text_[at - 1])) --at;
  return at;
}
size_t LineEditor::word_end() const {
  size_t at = cursor_;
  while (at < text_.size() && is_space(text_[at])) ++at;
  while (at < text_.size() && !is_space(text_[at])) ++at;
  return at;
}

size_t LineEditor::before() const { return cursor_ == 0 ? 0 : cursor_ - bytes_before(text_, cursor_); }
size_t LineEditor::behind() const {
  size_t bytes = 0;
  character_at(text_, cursor_, &bytes);
  return cursor_ + bytes;
}

}  // namespace ferry::cli
