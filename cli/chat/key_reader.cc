#include "cli/chat/key_reader.h"

#include <algorithm>
#include <utility>

#include "sdk/text/utf8.h"

namespace ferry::cli {
namespace {

constexpr std::string_view kPasteBegins = "200", kPasteEnds = "\x1b[201~";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::optional<Key::Kind> of_control(char c) {
  switch (c) {
    case '\r':
    case '\n': return Key::Enter;
    case 0x7f:
    case '\b': return Key::Backspace;
    case 'A' - '@': return Key::Home;
    case 'B' - '@': return Key::Left;
    case 'D' - '@': return Key::EndOfInput;
    case 'E' - '@': return Key::End;
    case 'F' - '@': return Key::Right;
    case 'K' - '@': return Key::DeleteToEnd;
    case 'L' - '@': return Key::ClearScreen;
    case 'N' - '@': return Key::Down;
    case 'P' - '@': return Key::Up;
    case 'U' - '@': return Key::DeleteToBegin;
    case 'W' - '@': return Key::DeleteWord;
    default: return std::nullopt;
  }
}

// After Alt, which sends ESC first.
std::optional<Key::Kind> of_alt(char c) {
  switch (c) {
    case '\r':
    case '\n': return Key::NewLine;
    case 'b': return Key::WordLeft;
    case 'f': return Key::WordRight;
    case 0x7f:
    case '\b': return Key::DeleteWord;
    default: return std::nullopt;
  }
}

// ECMA-48 control sequences ("ESC [") and VT220 keys ("ESC O"). `parameters` such as "1;5": 5 is Ctrl, 3 is Alt.
std::optional<Key::Kind> of_sequence(std::string_view parameters, char last) {
  const bool words = parameters.ends_with(";5") || parameters.ends_with(";3");
  switch (last) {
    case 'A': return Key::Up;
    case 'B': return Key::Down;
    case 'C': return words ? Key::WordRight : Key::Right;
    case 'D': return words ? Key::WordLeft : Key::Left;
    case 'F': return Key::End;
    case 'H': return Key::Home;
    case 'M': return Key::Enter;  // of the numeric keypad
    case '~': break;
    default: return std::nullopt;
  }
  const std::string_view number = parameters.substr(0, parameters.find(';'));
  if (number == "1" || number == "7") return Key::Home;
  if (number == "4" || number == "8") return Key::End;
  if (number == "3") return Key::Delete;
  return std::nullopt;
}

}  // namespace

std::optional<Key> KeyReader::next() {
  for (;;) {
    if (pasting_) return pasted();
    if (bytes_.empty()) return std::nullopt;
    const char first = bytes_[0];
    if (first == '\x1b') {
      const size_t before = bytes_.size();
      std::optional<Key> key = escaped();
      if (key || (bytes_.size() == before && !pasting_)) return key;
      continue;
    }
    if (is_control(first) && first != '\t') {
      bytes_.erase(0, 1);
      if (const auto kind = of_control(first)) return Key{*kind};
      continue;
    }
    const auto ends = [](char c) { return is_control(c) && c != '\t'; };
    auto end = static_cast<size_t>(std::find_if(bytes_.begin(), bytes_.end(), ends) - bytes_.begin());
    if (end == bytes_.size()) {  // the last character may be cut
      for (size_t back = 1; back < 4 && back <= bytes_.size(); ++back)
        if (character_bytes(std::string_view(bytes_).substr(bytes_.size() - back)) == kIncomplete)
          end = bytes_.size() - back;
      if (end == 0) return std::nullopt;
    }
    Key key{Key::Text, bytes_.substr(0, end)};
    bytes_.erase(0, end);
    return key;
  }
}

std::optional<Key> KeyReader::escaped() {
  if (bytes_.size() < 2) return std::nullopt;
  if (bytes_[1] != '[' && bytes_[1] != 'O') {
    const char second = bytes_[1];
    bytes_.erase(0, second == '\x1b' ? 1 : 2);
    const auto kind = of_alt(second);
    return kind ? std::optional(Key{*kind}) : std::nullopt;
  }
  const auto ends = [](char c) { return c < 0x20 || c >= 0x40; };
  const auto end = std::find_if(bytes_.begin() + 2, bytes_.end(), ends);
  if (end == bytes_.end()) return std::nullopt;
  const std::string parameters(bytes_.begin() + 2, end);
  const char last = *end;
  bytes_.erase(bytes_.begin(), end + 1);
  if (parameters == kPasteBegins && last == '~') {
    pasting_ = true;
    searched_ = 0;
    return std::nullopt;
  }
  const auto kind = of_sequence(parameters, last);
  return kind ? std::optional(Key{*kind}) : std::nullopt;
}

std::optional<Key> KeyReader::pasted() {
  const size_t end = bytes_.find(kPasteEnds, searched_);
  if (end == std::string::npos) {
    searched_ = bytes_.size() - std::min(bytes_.size(), kPasteEnds.size() - 1);
    return std::nullopt;
  }
  Key key{Key::Text};
  for (size_t i = 0; i < end; ++i) {
    if (bytes_[i] != '\r')
      key.text += bytes_[i];
    else if (i + 1 == end || bytes_[i + 1] != '\n')
      key.text += '\n';
  }
  bytes_.erase(0, end + kPasteEnds.size());
  pasting_ = false;
  return key;
}

}  // namespace ferry::cli
