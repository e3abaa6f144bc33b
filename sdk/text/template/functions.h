// The functions that every template sees, and the methods of its values.
#pragma once

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {

// Null where there is none of that name.
const Native* find_function(std::string_view name);
const Native* find_method(Type type, std::string_view name);
const Native* find_string_method(std::string_view name);  // string_methods.cc

// Where `wanted` begins first in `text` at or behind `from`; npos where it does not. Time grows with both sizes' sum.
size_t find_text(std::string_view text, std::string_view wanted, size_t from);
// str.replace(): at most `count` times, or all where it is negative.
Value replace_text(Evaluator& run, std::string_view text, std::string_view old, std::string_view fresh, int64_t count);
// str.strip(characters) of either end.
std::string_view strip_characters(Evaluator& run, std::string_view text, std::string_view characters, bool left,
                                  bool right);
enum class Letters : uint8_t { Upper, Lower, Capitalized, Titled, Swapped };
Value with_letters(Evaluator& run, std::string_view text, Letters letters);
Value split_lines(Evaluator& run, std::string_view text, bool keep_ends);

// format.cc: "{} {0} {name}".format(...), fields without a specification.
Value format_braces(Evaluator& run, const Value& pattern, const Arguments& arguments);
// clock.cc: C's strftime() in English.
void write_time(Evaluator& run, std::string_view format, const std::tm& time);

// A value of a table, looked up by its name.
template <size_t N>
const Native* find_in(const Native (&table)[N], std::string_view name) {
  for (const Native& native : table)
    if (native.name == name) return &native;
  return nullptr;
}

}  // namespace ferry::jinja
