// Splits a template into tokens. Text between tags is one token; its whitespace is trimmed as transformers configures
// Jinja (trim_blocks, lstrip_blocks) and as the tags' signs demand.
#pragma once

#include "sdk/text/template/work.h"

namespace ferry::jinja {

struct Token {
  enum Kind : uint8_t { End, Text, OutputBegin, OutputEnd, BlockBegin, BlockEnd, Name, Literal, Operator };
  Kind kind = End;
  std::string_view text;  // the token's source text
  Value value;            // Literal

  bool is(std::string_view word) const { return (kind == Name || kind == Operator) && text == word; }
};

// A copy continues at the same position, for look-ahead.
class Lexer {
 public:
  // `source`: well-formed UTF-8 with "\n" as newlines; it must outlive the tokens.
  Lexer(Work& work, std::string_view source) : work_(&work), source_(source) {}

  // Returns End forever after a failure.
  Token next();
  uint32_t line() const { return line_; }

 private:
  enum class Mode : uint8_t { Text, Output, Block };

  Token next_text();
  Token next_in_tag();
  Token read_string(char quote);
  Token read_number();
  Token literal(size_t end, const Value& value);
  Token take(Token::Kind kind, size_t bytes);
  Token fail(const char* what);
  size_t begin_tag(size_t at, size_t text_begin, size_t* text_end, bool output);
  void end_tag(size_t bytes, char sign, bool trims);
  bool skip_raw(size_t* text_begin, size_t* text_end);

  std::string_view rest() const { return source_.substr(at_); }
  char peek(size_t offset = 0) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }
  void advance(size_t bytes);

  Work* work_;
  std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  int brackets_ = 0;  // open brackets in the tag
  Mode mode_ = Mode::Text;
  bool after_newline_ = true;  // the last tag consumed a newline
};

}  // namespace ferry::jinja
