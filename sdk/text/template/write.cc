// Converts values to text: str(), repr().
#include <cmath>
#include <cstdio>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/evaluator.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

// Characters that repr() escapes: Unicode's control, format and separator categories.
bool is_hidden(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD || (code != 0x20 && is_space(code)) ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xE000 && code <= 0xF8FF) ||
         (code >= 0xFFF0 && code <= 0xFFFB) || code >= 0xE0000;
}

void write_quoted(Work& work, std::string_view text) {
  text = work.read_characters(text);
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  work.append(quote);
  while (!text.empty() && !work.failed()) {
    const size_t bytes = first_bytes(text);
    const uint32_t code = code_point(text);
    constexpr std::string_view kSpecial = "\t\n\r\\", kLetters = "tnr\\";
    const size_t special = bytes == 1 ? kSpecial.find(text[0]) : kSpecial.npos;
    char escape[16];
    if (special != kSpecial.npos || text[0] == quote) {
      work.append('\\');
      work.append(special != kSpecial.npos ? kLetters[special] : quote);
    } else if (is_hidden(code)) {
      std::snprintf(escape, sizeof escape, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
      work.append(escape);
    } else {
      work.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  work.append(quote);
}

}  // namespace

void Evaluator::write(const Value& value) {
  if (value.is(Type::String))
    append(value.uncharged());
  else if (!value.is(Type::Undefined))
    write_repr(value);
}

Value Evaluator::text(const Value& value) {
  if (value.is(Type::String)) return value;
  const size_t mark = length();
  write(value);
  return take(mark);
}

Value Evaluator::escaped(const Value& value) {
  const Value plain = text(value);
  if (plain.safe) return plain;
  const size_t mark = length();
  for (const char c : read(plain)) {
    switch (c) {
      case '&': append("&amp;"); break;
      case '<': append("&lt;"); break;
      case '>': append("&gt;"); break;
      case '"': append("&#34;"); break;
      case '\'': append("&#39;"); break;
      default: append(c);
    }
  }
  return markup(take(mark));
}

void Evaluator::write_repr(const Value& value, int depth) {
  if (!step()) return;
  if (depth > kMaxNesting) {
    fail("values are nested more than %d deep", kMaxNesting);
    return;
  }
  NumberText number;
  const auto write_list = [&](const char* begin, const char* end) {
    append(begin);
    for (uint32_t i = 0; i < value.size && !failed(); ++i) {
      if (i > 0) append(", ");
      write_repr(value.items[i], depth + 1);
    }
    append(end);
  };
  switch (value.type) {
    case Type::Undefined: append("Undefined"); break;
    case Type::None: append("None"); break;
    case Type::Bool: append(value.integer != 0 ? "True" : "False"); break;
    case Type::Int: append(step(4) ? write_integer(value.integer, number) : std::string_view()); break;
    case Type::Float: append(step(kFloatSteps) ? write_float(value.real, number) : std::string_view()); break;
    case Type::String:
      if (value.safe) append("Markup(");
      write_quoted(*this, value.uncharged());
      if (value.safe) append(')');
      break;
    case Type::List: write_list("[", "]"); break;
    case Type::Tuple: write_list("(", value.size == 1 ? ",)" : ")"); break;
    case Type::Namespace:
    case Type::Dict: {
      append(value.is(Type::Dict) ? "{" : "<Namespace {");
      for (uint32_t i = 0; i < value.dict->size && !failed(); ++i) {
        if (i > 0) append(", ");
        write_repr(value.dict->entries[i].key, depth + 1);
        append(": ");
        write_repr(value.dict->entries[i].value, depth + 1);
      }
      append(value.is(Type::Dict) ? "}" : "}>");
      break;
    }
    case Type::View:
    case Type::Iterator:
      fail("what a filter or a method of a dict gives is no text: the filter list or join makes one");
      break;
    default: fail("a %s is no text", type_name(value.type));
  }
}

}  // namespace ferry::jinja
