#include <cctype>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/numbers.h"
#include "sdk/text/template/template.h"
#include "sdk/text/template/work.h"

namespace ferry::jinja {
namespace {

// RFC 8259.
class JsonReader {
 public:
  JsonReader(Work& work, std::string_view text) : work_(work), text_(text) {}

  Value read() {
    const Value value = read_value(0);
    skip_spaces();
    if (at_ < text_.size()) return fail("ends where more follows");
    return value;
  }

 private:
  Value fail(const char* what) { return work_.fail("the JSON %s, at byte %zu", what, at_); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  Value read_value(int depth);
  Value read_list(int depth);
  Value read_dict(int depth);
  Value read_string();
  bool read_escape(char* out, size_t* size);
  bool read_unit(uint32_t* unit);
  Value read_number();

  Work& work_;
  std::string_view text_;
  size_t at_ = 0;
};

Value JsonReader::read_value(int depth) {
  if (!work_.step()) return {};
  if (depth > kMaxNesting) return work_.fail("the JSON is nested more than %d deep", kMaxNesting);
  skip_spaces();
  switch (peek()) {
    case '{': return read_dict(depth);
    case '[': return read_list(depth);
    case '"': return read_string();
    case 't':
      if (skip("true")) return boolean(true);
      break;
    case 'f':
      if (skip("false")) return boolean(false);
      break;
    case 'n':
      if (skip("null")) return none();
      break;
    default: return read_number();
  }
  return fail("has a word that is none of true, false and null");
}

Value JsonReader::read_list(int depth) {
  ++at_;
  skip_spaces();
  if (skip("]")) return sequence(Type::List, nullptr, 0);
  Value* items = nullptr;
  size_t size = 0, capacity = 0;
  do {
    const Value item = read_value(depth + 1);
    if (size == capacity) {
      capacity = capacity == 0 ? 4 : 2 * capacity;
      auto* moved = work_.make<Value>(capacity);
      if (moved == nullptr) return {};
      for (size_t i = 0; i < size; ++i) moved[i] = items[i];
      items = moved;
    }
    items[size++] = item;
    skip_spaces();
  } while (!work_.failed() && skip(","));
  if (!skip("]")) return fail("has a list without its end");
  return sequence(Type::List, items, size);
}

Value JsonReader::read_dict(int depth) {
  ++at_;
  auto* dict = work_.make<Dict>();
  if (dict == nullptr) return {};
  skip_spaces();
  if (skip("}")) return mapping(dict);
  do {
    skip_spaces();
    if (peek() != '"') return fail("has an object whose key is no string");
    const Value key = read_string();
    skip_spaces();
    if (!skip(":")) return fail("has a key without a colon");
    const Value value = read_value(depth + 1);
    if (work_.failed()) return {};
    dict->put(work_, key, value);
    skip_spaces();
  } while (!work_.failed() && skip(","));
  if (!skip("}")) return fail("has an object without its end");
  return mapping(dict);
}

Value JsonReader::read_string() {
  const size_t begin = ++at_;
  size_t end = begin;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return fail("has a string without its end");
  auto* made = work_.make<char>(end - begin + 1);  // escapes are longer than their results
  if (made == nullptr) return {};
  size_t size = 0;
  while (at_ < end) {
    if (static_cast<uint8_t>(text_[at_]) < 0x20) return fail("has a control character in a string");
    if (text_[at_] != '\\') {
      made[size++] = text_[at_++];
    } else if (!read_escape(made, &size)) {
      return fail("has an escape that stands for no character");
    }
  }
  ++at_;
  return string({made, size});
}

bool JsonReader::read_escape(char* out, size_t* size) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = text_[at_ + 1];
  if (const size_t found = kLetters.find(letter); found != kLetters.npos) {
    out[(*size)++] = kMeanings[found];
    at_ += 2;
    return true;
  }
  uint32_t code = 0, low = 0;
  if (!read_unit(&code)) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    if (!read_unit(&low) || low < 0xDC00 || low >= 0xE000) return false;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  const size_t bytes = encode(code, out + *size);
  *size += bytes;
  return bytes > 0;
}

// Reads \u and four digits.
bool JsonReader::read_unit(uint32_t* unit) {
  int64_t value = 0;
  const std::string_view digits = text_.substr(at_).substr(0, 6);
  if (digits.size() < 6 || digits.substr(0, 2) != "\\u" || !read_integer(digits.substr(2), 16, &value)) return false;
  *unit = static_cast<uint32_t>(value);
  at_ += 6;
  return true;
}

Value JsonReader::read_number() {
  const size_t begin = at_;
  skip("-");
  const size_t first = at_;
  const auto skip_digits = [&] {
    const size_t from = at_;
    while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
    return at_ > from;
  };
  if (!skip_digits()) return fail("has no value");
  if (text_[first] == '0' && at_ > first + 1) return fail("has a number that begins with 0");
  const size_t end_of_integer = at_;
  if (skip(".") && !skip_digits()) return fail("has a number without digits behind its point");
  if (skip("e") || skip("E")) {
    if (!skip("-")) skip("+");
    if (!skip_digits()) return fail("has an exponent without digits");
  }
  const bool negative = first > begin;
  if (at_ == end_of_integer) {
    int64_t value = 0;
    if (!read_integer(text_.substr(first, at_ - first), 10, &value)) return fail("has an integer beyond 64 bits");
    return integer(negative ? -value : value);
  }
  double value = 0;
  if (!read_float(text_.substr(first, at_ - first), &value)) return fail("has a number of too many digits");
  return real(negative ? -value : value);
}

}  // namespace

Status parse_json(std::string_view json, Arena& arena, Value* out) {
  Work work(arena);
  if (json.size() > kMaxTextBytes)
    work.fail("the JSON has %zu bytes, more than %zu", json.size(), kMaxTextBytes);
  else if (!well_formed(json))
    work.fail("the JSON is not UTF-8");
  else
    *out = JsonReader(work, json).read();
  return work.status();
}

}  // namespace ferry::jinja
