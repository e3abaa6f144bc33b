#include "sdk/text/template/lexer.h"

#include <algorithm>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}

size_t spaces(std::string_view text) { return text.size() - strip(text, true, false).size(); }

// Size in bytes of the tag {% word %} at the beginning of `text`, and its whitespace signs; 0 if it is not there.
size_t match_tag(std::string_view text, std::string_view word, char* left, char* right) {
  if (text.substr(0, 2) != "{%") return 0;
  size_t at = 2;
  *left = at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at++] : ' ';
  at += spaces(text.substr(at));
  if (text.substr(at, word.size()) != word) return 0;
  at += word.size();
  at += spaces(text.substr(at));
  *right = at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at++] : ' ';
  return text.substr(at, 2) == "%}" ? at + 2 : 0;
}

}  // namespace

Token Lexer::fail(const char* what) {
  work_->line = line_;
  work_->fail("%s", what);
  return {};
}

void Lexer::advance(size_t bytes) {
  line_ += static_cast<uint32_t>(std::count(source_.begin() + at_, source_.begin() + at_ + bytes, '\n'));
  at_ += bytes;
}

Token Lexer::take(Token::Kind kind, size_t bytes) {
  const Token token = {kind, rest().substr(0, bytes), {}};
  advance(bytes);
  return token;
}

Token Lexer::next() {
  if (!work_->step()) return {};
  return mode_ == Mode::Text ? next_text() : next_in_tag();
}

// Reads the sign after "{{", "{%" or "{#" at `at`, and computes where the preceding text ends.
size_t Lexer::begin_tag(size_t at, size_t text_begin, size_t* text_end, bool output) {
  const char sign = at + 2 < source_.size() ? source_[at + 2] : ' ';
  const std::string_view text = source_.substr(text_begin, at - text_begin);
  *text_end = at;
  if (sign == '-') {
    *text_end = text_begin + strip(text, false, true).size();
  } else if (sign != '+' && !output) {
    const size_t newline = text.rfind('\n');
    const size_t line_begin = newline == text.npos ? 0 : newline + 1;
    if ((line_begin > 0 || after_newline_) && strip(text.substr(line_begin), true, false).empty())
      *text_end = text_begin + line_begin;
  }
  return sign == '-' || sign == '+' ? 3 : 2;
}

// Skips the end of a tag with its sign, and the whitespace trimmed by it.
void Lexer::end_tag(size_t bytes, char sign, bool trims) {
  advance(bytes);
  after_newline_ = false;
  const size_t cut = sign == '-' ? spaces(rest()) : trims && sign != '+' && peek() == '\n' ? 1 : 0;
  after_newline_ = cut > 0 && source_[at_ + cut - 1] == '\n';
  advance(cut);
}

// {% raw %} ... {% endraw %} at the present position: returns the text between, verbatim.
bool Lexer::skip_raw(size_t* text_begin, size_t* text_end) {
  char left = ' ', right = ' ';
  const size_t bytes = match_tag(rest(), "raw", &left, &right);
  if (bytes == 0 || right == '+') return false;
  end_tag(bytes, right, false);
  const size_t begin = at_;
  for (size_t end = source_.find("{%", at_); end != source_.npos; end = source_.find("{%", end + 2)) {
    const size_t end_bytes = match_tag(source_.substr(end), "endraw", &left, &right);
    if (end_bytes == 0) continue;
    *text_begin = begin;
    begin_tag(end, begin, text_end, false);
    advance(end - at_);
    end_tag(end_bytes, right, true);
    return true;
  }
  fail("{% raw %} has no {% endraw %}");
  return true;
}

Token Lexer::next_text() {
  while (at_ < source_.size() && work_->step()) {
    const size_t begin = at_;
    size_t tag = source_.find('{', at_);
    while (tag != source_.npos &&
           (tag + 1 == source_.size() || std::string_view("{%#").find(source_[tag + 1]) == std::string_view::npos))
      tag = source_.find('{', tag + 1);
    if (tag == source_.npos) return take(Token::Text, source_.size() - at_);
    const char kind = source_[tag + 1];
    size_t end = 0;
    const size_t tag_bytes = begin_tag(tag, begin, &end, kind == '{');
    if (end > begin) {  // the next call starts at the tag
      const Token text = {Token::Text, source_.substr(begin, end - begin), {}};
      advance(tag - at_);
      after_newline_ = false;
      return text;
    }
    advance(tag - at_);
    if (kind == '#') {
      const size_t close = source_.find("#}", tag + tag_bytes);
      if (close == source_.npos) return fail("a comment has no end");
      const char sign = close > tag + tag_bytes ? source_[close - 1] : ' ';
      advance(close - at_);
      end_tag(2, sign, true);
      continue;
    }
    size_t raw_begin = 0, raw_end = 0;
    if (kind == '%' && skip_raw(&raw_begin, &raw_end)) {
      if (raw_end > raw_begin) return {Token::Text, source_.substr(raw_begin, raw_end - raw_begin), {}};
      continue;
    }
    mode_ = kind == '{' ? Mode::Output : Mode::Block;
    brackets_ = 0;
    return take(kind == '{' ? Token::OutputBegin : Token::BlockBegin, tag_bytes);
  }
  return {};
}

Token Lexer::next_in_tag() {
  advance(spaces(rest()));
  if (at_ == source_.size()) return fail("a tag has no end");
  if (brackets_ == 0) {
    const bool output = mode_ == Mode::Output;
    const bool has_sign = peek() == '-' || (peek() == '+' && !output);
    if (rest().substr(has_sign ? 1 : 0, 2) == (output ? "}}" : "%}")) {
      mode_ = Mode::Text;
      end_tag(has_sign ? 3 : 2, has_sign ? peek() : ' ', !output);
      return {output ? Token::OutputEnd : Token::BlockEnd, output ? "}}" : "%}", {}};
    }
  }
  const char c = peek();
  if (begins_name(c)) {
    size_t end = at_ + 1;
    while (end < source_.size() && (begins_name(source_[end]) || is_digit(source_[end]))) ++end;
    return take(Token::Name, end - at_);
  }
  if (is_digit(c)) return read_number();
  if (c == '"' || c == '\'') return read_string(c);
  for (const std::string_view two : {"**", "//", "==", "!=", "<=", ">="})
    if (rest().substr(0, 2) == two) return take(Token::Operator, 2);
  if (std::string_view("+-*/%~<>=.:|,;()[]{}").find(c) == std::string_view::npos)
    return fail("there is a character that no expression has");
  if (c == '(' || c == '[' || c == '{') ++brackets_;
  if (c == ')' || c == ']' || c == '}') --brackets_;
  if (brackets_ < 0) return fail("a bracket is closed that was never opened");
  return take(Token::Operator, 1);
}

Token Lexer::literal(size_t end, const Value& value) {
  Token token = take(Token::Literal, end - at_);
  token.value = value;
  return token;
}

Token Lexer::read_number() {
  const auto digits_end = [&](size_t from) {
    while (from < source_.size() && is_digit(source_[from])) ++from;
    return from;
  };
  const char letter = static_cast<char>(peek(1) | 0x20);
  int64_t value = 0;
  if (peek() == '0' && (letter == 'x' || letter == 'o' || letter == 'b')) {
    size_t end = at_ + 2;
    while (end < source_.size() && (is_digit(source_[end]) || begins_name(source_[end]))) ++end;
    if (!read_integer(source_.substr(at_ + 2, end - at_ - 2), letter == 'x' ? 16 : letter == 'o' ? 8 : 2, &value))
      return fail("an integer is beyond 64 bits, or none");
    return literal(end, integer(value));
  }
  size_t end = digits_end(at_);
  const size_t integer_end = end;
  if (at_ == 0 || source_[at_ - 1] != '.') {  // x.0.1 has two indices
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) end = digits_end(end + 1);
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (digits_end(exponent) > exponent) end = digits_end(exponent);
    }
  }
  if (end == integer_end) {
    if (!read_integer(source_.substr(at_, end - at_), 10, &value)) return fail("an integer is beyond 64 bits");
    return literal(end, integer(value));
  }
  double number = 0;
  if (!read_float(source_.substr(at_, end - at_), &number)) return fail("a number has too many digits");
  return literal(end, real(number));
}

// Python's escapes; a backslash before another character is kept.
Token Lexer::read_string(char quote) {
  size_t end = at_ + 1;
  bool escapes = false;
  for (; end < source_.size() && source_[end] != quote; ++end) {
    if (source_[end] != '\\') continue;
    escapes = true;
    ++end;
  }
  if (end >= source_.size()) return fail("a string has no end");
  const std::string_view raw = source_.substr(at_ + 1, end - at_ - 1);
  if (!escapes) return literal(end + 1, string(raw));
  auto* made = work_->make<char>(raw.size());
  if (made == nullptr) return {};
  size_t size = 0;
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      made[size++] = raw[i++];
      continue;
    }
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char letter = raw[i + 1];
    int64_t code = 0;
    if (const size_t found = kLetters.find(letter); found != kLetters.npos) {
      made[size++] = kMeanings[found];
      i += 2;
    } else if (letter == '\n') {
      i += 2;
    } else if (letter >= '0' && letter <= '7') {
      size_t digits = 1;
      while (digits < 3 && i + 1 + digits < raw.size() && raw[i + 1 + digits] >= '0' && raw[i + 1 + digits] <= '7')
        ++digits;
      read_integer(raw.substr(i + 1, digits), 8, &code);
      size += encode(static_cast<uint32_t>(code), made + size);
      i += 1 + digits;
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      const size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
      const std::string_view hexadecimal = raw.substr(i + 2).substr(0, digits);
      const size_t bytes = hexadecimal.size() == digits && read_integer(hexadecimal, 16, &code)
                               ? encode(static_cast<uint32_t>(std::min<int64_t>(code, UINT32_MAX)), made + size)
                               : 0;
      if (bytes == 0) return fail("a string has an escape that stands for no character");
      size += bytes;
      i += 2 + digits;
    } else {
      made[size++] = raw[i++];
    }
  }
  return literal(end + 1, string({made, size}));
}

}  // namespace ferry::jinja
