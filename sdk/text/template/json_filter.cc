// tojson as transformers defines it: Python's json.dumps() with ensure_ascii=False.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/filters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Evaluator& run, const Arguments& a) : run_(run), ascii_(truth(a[0])), sorted_(truth(a[3])) {
    indented_ = a[1].is_integral() || a[1].is(Type::String);
    if (a[1].is(Type::String)) margin_ = a[1].uncharged();
    if (a[1].is_integral()) margin_ = run.apply(Operation::Multiply, string(" "), a[1]).uncharged();
    between_ = indented_ ? "," : ", ";
    if (a[2].is(Type::Absent) || a[2].is(Type::None)) return;
    const Value pair = run.elements(a[2]);
    if (pair.size != 2 || !pair.items[0].is(Type::String) || !pair.items[1].is(Type::String)) {
      run.fail("tojson takes separators as two strings");
      return;
    }
    between_ = pair.items[0].uncharged();
    colon_ = pair.items[1].uncharged();
  }

  void write(const Value& value, int depth);

 private:
  void write_string(std::string_view text);
  void write_number(const Value& value);
  void write_dict(Value dict, int depth);
  void write_break(int depth) {
    if (!indented_) return;
    run_.append('\n');
    for (int i = 0; i < depth; ++i) run_.append(margin_);
  }

  Evaluator& run_;
  std::string_view margin_, between_, colon_ = ": ";
  bool ascii_, sorted_, indented_ = false;
};

void JsonWriter::write(const Value& value, int depth) {
  if (!run_.step()) return;
  if (depth > kMaxNesting) {
    run_.fail("values are nested more than %d deep", kMaxNesting);
    return;
  }
  switch (value.type) {
    case Type::None: return run_.append("null");
    case Type::Bool: return run_.append(value.integer != 0 ? "true" : "false");
    case Type::Int:
    case Type::Float: return write_number(value);
    case Type::String: return write_string(value.uncharged());
    case Type::Dict: return write_dict(value, depth);
    case Type::List:
    case Type::Tuple:
      run_.append('[');
      for (uint32_t i = 0; i < value.size && !run_.failed(); ++i) {
        if (i > 0) run_.append(between_);
        write_break(depth + 1);
        write(value.items[i], depth + 1);
      }
      if (value.size > 0) write_break(depth);
      return run_.append(']');
    default: run_.fail("Object of type %s is not JSON serializable", type_name(value.type));
  }
}

void JsonWriter::write_number(const Value& value) {
  NumberText text;
  if (!run_.step(kFloatSteps)) return;
  if (value.is(Type::Float) && !std::isfinite(value.real))
    run_.append(std::isnan(value.real) ? "NaN" : value.real > 0 ? "Infinity" : "-Infinity");
  else
    run_.append(value.is(Type::Float) ? write_float(value.real, text) : write_integer(value.integer, text));
}

void JsonWriter::write_dict(Value value, int depth) {
  const Dict& dict = *value.dict;
  Value entries = run_.call(*find_method(Type::Dict, "items"), "function", value, {});
  if (sorted_) {
    const Value options[] = {boolean(true), absent(), absent()};
    entries = filter_dictsort(run_, value, {options, 3, nullptr, 0});
  }
  if (run_.failed()) return;
  run_.append('{');
  for (uint32_t i = 0; i < dict.size && !run_.failed(); ++i) {
    const Value& key = entries.items[i].items[0];
    if (i > 0) run_.append(between_);
    write_break(depth + 1);
    if (key.is(Type::String)) {
      write_string(key.uncharged());
    } else {  // JSON has no other keys
      run_.append('"');
      write(key, depth + 1);
      run_.append('"');
    }
    run_.append(colon_);
    write(entries.items[i].items[1], depth + 1);
  }
  if (dict.size > 0) write_break(depth);
  run_.append('}');
}

void JsonWriter::write_string(std::string_view text) {
  text = run_.read_characters(text);
  constexpr std::string_view kSpecial = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
  run_.append('"');
  while (!text.empty() && !run_.failed()) {
    size_t plain = 0;
    while (plain < text.size() && static_cast<uint8_t>(text[plain]) >= 0x20 && text[plain] != '"' &&
           text[plain] != '\\' && (!ascii_ || static_cast<uint8_t>(text[plain]) < 0x7F))
      ++plain;
    run_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const size_t bytes = first_bytes(text);
    char escape[16];
    if (const size_t special = kSpecial.find(text[0]); special != kSpecial.npos) {
      run_.append('\\');
      run_.append(kLetters[special]);
    } else if (const uint32_t code = code_point(text); code == 0x7F) {
      run_.append(text[0]);
    } else if (code < 0x10000) {
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      run_.append(escape);
    } else {
      std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
      run_.append(escape);
    }
    text.remove_prefix(bytes);
  }
  run_.append('"');
}

}  // namespace

Value filter_tojson(Evaluator& run, const Value& value, const Arguments& a) {
  const size_t mark = run.length();
  JsonWriter(run, a).write(value, 0);
  return run.take(mark);
}

}  // namespace ferry::jinja
