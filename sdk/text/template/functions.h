// Global functions of templates, and methods of values.
#pragma once

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {

// Null: there is no such function.
const Native* find_function(std::string_view name);
const Native* find_method(Type type, std::string_view name);
const Native* find_string_method(std::string_view name);  // string_methods.cc

// The first position of `wanted` in `text` from `from` on; npos if there is none. Takes time linear in both sizes. The
// caller has charged the reading of `text`, by characters.
size_t find_text(std::string_view text, std::string_view wanted, size_t from);
// str.replace(): at most `count` times; all if negative.
Value replace_text(Evaluator& run, std::string_view text, std::string_view old, std::string_view fresh, int64_t count);
// str.strip() at either end, and str.strip(characters). They read what they strip.
std::string_view strip_spaces(Evaluator& run, std::string_view text, bool left, bool right);
std::string_view strip_characters(Evaluator& run, std::string_view text, std::string_view characters, bool left,
                                  bool right);
// What the case mappings of a character that is not ASCII cost, in steps.
inline constexpr size_t kCaseSteps = 4;
enum class Letters : uint8_t { Upper, Lower, Capitalized, Titled, Swapped };
Value with_letters(Evaluator& run, std::string_view text, Letters letters);
Value split_lines(Evaluator& run, std::string_view text, bool keep_ends);

inline constexpr int64_t kMaxWidth = 1000;  // width and precision of formatted values
// format_braces.cc: "{} {0} {name.field[1]!r:>{width}}".format(...)
Value format_braces(Evaluator& run, const Value& pattern, const Arguments& arguments);
// format_spec.cc: Python's format(value, spec).
void write_formatted(Evaluator& run, const Value& value, std::string_view spec);
// clock.cc: C's strftime() in the English locale.
void write_time(Evaluator& run, std::string_view format, const std::tm& time);

// Looks up a table's entry by name.
template <size_t N>
const Native* find_in(const Native (&table)[N], std::string_view name) {
  for (const Native& native : table)
    if (native.name == name) return &native;
  return nullptr;
}

}  // namespace ferry::jinja
