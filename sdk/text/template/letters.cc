// Searches and transforms strings, for methods and filters.
#include <cstring>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/functions.h"

namespace ferry::jinja {

size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size()) return text.npos;
  if (wanted.empty()) return from;
  if (wanted.size() > text.size() - from) return text.npos;  // data() of an empty text may be null
  // memmem() is linear (two-way); string_view::find() is quadratic for some texts.
  const void* found = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : text.npos;
}

Value replace_text(Evaluator& run, std::string_view text, std::string_view old, std::string_view fresh, int64_t count) {
  text = run.read_characters(text);
  const size_t mark = run.length();
  size_t at = 0;
  for (; count != 0 && run.step(); count -= count > 0) {
    const size_t found = find_text(text, old, at);
    if (found == text.npos) break;
    run.append(text.substr(at, found - at));
    run.append(fresh);
    at = found + old.size();
    if (!old.empty()) continue;
    if (at == text.size()) {  // an empty string matches between all characters and at the end
      at = text.size();
      break;
    }
    const size_t bytes = first_bytes(text.substr(at));
    run.append(text.substr(at, bytes));
    at += bytes;
  }
  run.append(text.substr(at));
  return run.take(mark);
}

std::string_view strip_spaces(Evaluator& run, std::string_view text, bool left, bool right) {
  const auto is_stripped = [&](std::string_view from) {
    return is_space(code_point(from)) && run.step_bytes(kStepBytes / 4);
  };
  while (left && !text.empty() && is_stripped(text)) text.remove_prefix(first_bytes(text));
  while (right && !text.empty() && is_stripped(text.substr(text.size() - last_bytes(text))))
    text.remove_suffix(last_bytes(text));
  return text;
}

std::string_view strip_characters(Evaluator& run, std::string_view text, std::string_view characters, bool left,
                                  bool right) {
  const auto among = [&](std::string_view character) {
    return find_text(run.read_characters(characters), character, 0) != characters.npos && !run.failed();
  };
  while (left && !text.empty() && among(text.substr(0, first_bytes(text)))) text.remove_prefix(first_bytes(text));
  while (right && !text.empty() && among(text.substr(text.size() - last_bytes(text))))
    text.remove_suffix(last_bytes(text));
  return text;
}

Value with_letters(Evaluator& run, std::string_view text, Letters letters) {
  text = run.read_characters(text);
  const size_t mark = run.length();
  bool inside = false;  // of a word
  for (; !text.empty() && !run.failed(); text.remove_prefix(first_bytes(text))) {
    const uint32_t code = code_point(text);
    if (code >= 0x80 && !run.step(kCaseSteps)) break;
    const bool cased = is_upper(code) || is_lower(code);
    bool up = letters == Letters::Upper;
    if (letters == Letters::Capitalized || letters == Letters::Titled) up = !inside;
    if (letters == Letters::Swapped) up = is_lower(code);
    inside = letters == Letters::Titled ? cased : true;
    char bytes[4];
    if (code == 0xDF && up)
      run.append(letters == Letters::Upper || letters == Letters::Swapped ? "SS" : "Ss");
    else
      run.append({bytes, encode(up ? upper(code) : lower(code), bytes)});
  }
  return run.take(mark);
}

Value split_lines(Evaluator& run, std::string_view text, bool keep_ends) {
  text = run.read_characters(run.read_characters(text));  // twice
  const auto length_of_line = [&](size_t* end_bytes) {
    size_t at = 0;
    *end_bytes = 0;
    while (at < text.size() && !ends_line(code_point(text.substr(at)))) at += first_bytes(text.substr(at));
    if (at < text.size()) *end_bytes = text.substr(at, 2) == "\r\n" ? 2 : first_bytes(text.substr(at));
    return at;
  };
  size_t count = 0, end = 0;
  const std::string_view whole = text;
  for (; !text.empty(); ++count) text.remove_prefix(length_of_line(&end) + end);
  auto* lines = run.make<Value>(count + 1);
  if (lines == nullptr) return {};
  text = whole;
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = length_of_line(&end);
    lines[i] = string(text.substr(0, keep_ends ? bytes + end : bytes));
    text.remove_prefix(bytes + end);
  }
  return sequence(Type::List, lines, count);
}

}  // namespace ferry::jinja
