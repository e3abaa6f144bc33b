#include "sdk/text/template/filters.h"

#include <algorithm>
#include <cmath>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/numbers.h"
#include "sdk/text/template/tests.h"

namespace ferry::jinja {
namespace {

bool given(const Value& value) { return !value.is(Type::Absent) && !value.is(Type::None); }

// An optional integer argument.
int64_t whole(Evaluator& run, const Value& value, int64_t otherwise) {
  if (value.is_integral()) return value.integer;
  if (given(value)) run.fail("a filter takes an integer, not %s", type_name(value.type));
  return otherwise;
}

Value length_of(Evaluator& run, const Value& value, const Arguments&) {
  switch (value.type) {
    case Type::Undefined: return integer(0);
    case Type::String: return integer(static_cast<int64_t>(count_characters(run.read(value))));
    case Type::List:
    case Type::Tuple:
    case Type::View: return integer(value.size);
    case Type::Dict: return integer(value.dict->size);
    case Type::Loop: return run.attribute(value, "length");
    default: return run.fail("object of type '%s' has no len()", type_name(value.type));
  }
}

template <Letters letters>
Value letters_of(Evaluator& run, const Value& value, const Arguments&) {
  const Value text = run.text(value), changed = with_letters(run, text.uncharged(), letters);
  return text.safe ? markup(changed) : changed;
}

// Capitalises each word; words end at spaces, "-" and opening brackets.
Value title(Evaluator& run, const Value& value, const Arguments&) {
  std::string_view text = run.read_characters(run.text(value));
  const size_t mark = run.length();
  const auto ends_word = [](std::string_view t) {
    return is_space(code_point(t)) || std::string_view("-({[<").find(t[0]) != std::string_view::npos;
  };
  while (!text.empty() && run.step()) {
    size_t end = first_bytes(text);
    if (ends_word(text)) {
      run.append(text.substr(0, end));
    } else {
      while (end < text.size() && !ends_word(text.substr(end))) end += first_bytes(text.substr(end));
      run.append(with_letters(run, text.substr(0, end), Letters::Capitalized).uncharged());
    }
    text.remove_prefix(end);
  }
  return run.take(mark);
}

Value trim(Evaluator& run, const Value& value, const Arguments& a) {
  const Value whole = run.text(value);
  const std::string_view text = whole.uncharged();
  const Value trimmed = string(given(a[0]) ? strip_characters(run, text, run.text(a[0]).uncharged(), true, true)
                                           : strip_spaces(run, text, true, true));
  return whole.safe ? markup(trimmed) : trimmed;
}

Value replace(Evaluator& run, const Value& value, const Arguments& a) {
  if (a[1].is(Type::Absent)) return run.fail("the filter 'replace' takes what is replaced, and by what");
  const Value text = run.text(value), old = run.text(a[0]), fresh = run.text(a[1]);
  return replace_text(run, text.uncharged(), old.uncharged(), fresh.uncharged(), whole(run, a[2], -1));
}

Value default_of(Evaluator&, const Value& value, const Arguments& a) {
  const bool replaced = value.is(Type::Undefined) || (truth(a[1]) && !truth(value));
  return !replaced ? value : a[0].is(Type::Absent) ? string("") : a[0];
}

Value to_string(Evaluator& run, const Value& value, const Arguments&) { return run.text(value); }

// Parses as Python's float(), but without underscores.
bool float_of(Evaluator& run, std::string_view text, double* value) {
  text = run.read_characters(strip_spaces(run, text, true, true));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "inf" || text == "infinity" || text == "nan")
    *value = text == "nan" ? NAN : INFINITY;
  else if (!read_float(text, value))
    return false;
  if (negative) *value = -*value;
  return true;
}

Value to_int(Evaluator& run, const Value& value, const Arguments& a) {
  const Value otherwise = a[0].is(Type::Absent) ? integer(0) : a[0];
  if (value.is(Type::Undefined)) return run.fail_undefined(value);
  if (value.is_integral()) return integer(value.integer);
  double number = value.is(Type::Float) ? value.real : NAN;
  if (value.is(Type::String)) {
    std::string_view text = run.read_characters(strip_spaces(run, value.uncharged(), true, true));
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const int64_t base = whole(run, a[1], 10);
    const std::string_view prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "-";
    if (text.starts_with(prefix)) text.remove_prefix(2);
    int64_t integral = 0;
    if (base < 2 || base > 36) return run.fail("int() base must be >= 2 and <= 36");
    if (read_integer(text, static_cast<uint32_t>(base), &integral)) return integer(negative ? -integral : integral);
    if (!float_of(run, value.uncharged(), &number)) return otherwise;
  }
  if (std::isnan(number) || std::isinf(number)) return otherwise;
  if (std::fabs(number) >= 9.2e18) return run.fail("an integer grows beyond 64 bits");
  return integer(static_cast<int64_t>(number));
}

Value to_float(Evaluator& run, const Value& value, const Arguments& a) {
  double number = 0;
  if (value.is(Type::Undefined)) return run.fail_undefined(value);
  if (value.is_number()) return real(value.number());
  if (value.is(Type::String) && float_of(run, value.uncharged(), &number)) return real(number);
  return a[0].is(Type::Absent) ? real(0) : a[0];
}

Value round_of(Evaluator& run, const Value& value, const Arguments& a) {
  if (!value.is_number()) return run.fail("type %s doesn't define __round__ method", type_name(value.type));
  const int64_t places = whole(run, a[0], 0);
  const std::string_view method = a[1].is(Type::String) ? a[1].uncharged() : "common";
  if (!run.step(kFloatSteps)) return {};
  if (method == "common" && value.is_integral()) {
    int64_t rounded = 0;
    return round_integer(value.integer, places, &rounded) ? integer(rounded)
                                                          : run.fail("an integer grows beyond 64 bits");
  }
  if (method == "common") return real(round_to(value.real, places));
  if (method != "ceil" && method != "floor") return run.fail("method must be common, ceil or floor");
  const double unit = std::pow(10.0, static_cast<double>(places)), scaled = value.number() * unit;
  return real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Value abs_of(Evaluator& run, const Value& value, const Arguments&) {
  if (value.is(Type::Float)) return real(std::fabs(value.real));
  if (!value.is_integral()) return run.fail("bad operand type for abs(): '%s'", type_name(value.type));
  return value.integer < 0 ? run.apply(Operation::Subtract, integer(0), value) : integer(value.integer);
}

Value indent(Evaluator& run, const Value& value, const Arguments& a) {
  if (!value.is(Type::String))
    return value.is(Type::Undefined) ? run.fail_undefined(value) : run.fail("the filter 'indent' takes a str");
  const Value spaces = string(" ");
  const Value margin =
      a[0].is(Type::String) ? a[0] : run.apply(Operation::Multiply, spaces, integer(whole(run, a[0], 4)));
  const bool first = truth(a[1]), blank = truth(a[2]);
  const Value lines = split_lines(run, value.uncharged(), false);
  if (run.failed()) return {};
  // A final newline begins another, empty line.
  const bool open =
      value.size == 0 || ends_line(code_point(value.uncharged().substr(value.size - last_bytes(value.uncharged()))));
  const size_t mark = run.length();
  for (uint32_t i = 0; i < lines.size + open && run.step(); ++i) {
    const std::string_view text = i < lines.size ? lines.items[i].uncharged() : std::string_view();
    if (i > 0) run.append('\n');
    if (i > 0 ? blank || !text.empty() : first) run.append(margin.uncharged());
    run.append(text);
  }
  const Value indented = run.take(mark);
  return value.safe ? markup(indented) : indented;
}

Value escape(Evaluator& run, const Value& value, const Arguments&) { return run.escaped(value); }

Value force_escape(Evaluator& run, const Value& value, const Arguments&) {
  Value plain = run.text(value);
  plain.safe = false;
  return run.escaped(plain);
}

Value safe(Evaluator& run, const Value& value, const Arguments&) { return markup(run.text(value)); }

Value wordcount(Evaluator& run, const Value& value, const Arguments&) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : run.read_characters(run.text(value))) {
    const bool word = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || (c & 0x80) != 0;
    words += word && !inside;
    inside = word;
  }
  return integer(words);
}

Value format_of(Evaluator& run, const Value& value, const Arguments& a) { return format(run, run.text(value), a); }

Value attr(Evaluator& run, const Value& value, const Arguments& a) {
  return a[0].is(Type::String) ? run.attribute(value, a[0].uncharged()) : run.fail("the filter 'attr' takes a name");
}

constexpr const char* kSearch = "case_sensitive attribute";
constexpr Native kFilters[] = {
    {"abs", "", abs_of},
    {"attr", "name", attr},
    {"batch", "linecount fill_with", filter_batch},
    {"capitalize", "", letters_of<Letters::Capitalized>},
    {"count", "", length_of},
    {"d", "default_value boolean", default_of},
    {"default", "default_value boolean", default_of},
    {"dictsort", "case_sensitive by reverse", filter_dictsort},
    {"e", "", escape},
    {"escape", "", escape},
    {"first", "", filter_first},
    {"float", "default", to_float},
    {"forceescape", "", force_escape},
    {"format", nullptr, format_of},
    {"indent", "width first blank", indent},
    {"int", "default base", to_int},
    {"items", "", filter_items},
    {"join", "d attribute", filter_join},
    {"last", "", filter_last},
    {"length", "", length_of},
    {"list", "", filter_list},
    {"lower", "", letters_of<Letters::Lower>},
    {"map", nullptr, filter_map},
    {"max", kSearch, filter_max},
    {"min", kSearch, filter_min},
    {"reject", nullptr, filter_reject},
    {"rejectattr", nullptr, filter_rejectattr},
    {"replace", "old new count", replace},
    {"reverse", "", filter_reverse},
    {"round", "precision method", round_of},
    {"safe", "", safe},
    {"select", nullptr, filter_select},
    {"selectattr", nullptr, filter_selectattr},
    {"sort", "reverse case_sensitive attribute", filter_sort},
    {"string", "", to_string},
    {"sum", "attribute start", filter_sum},
    {"title", "", title},
    {"tojson", "ensure_ascii indent separators sort_keys", filter_tojson},
    {"trim", "chars", trim},
    {"unique", kSearch, filter_unique},
    {"upper", "", letters_of<Letters::Upper>},
    {"wordcount", "", wordcount},
};

}  // namespace

uint8_t find_filter(std::string_view name) { return place_in(kFilters, name); }

Value fail_unknown_filter(Work& work, uint32_t line, std::string_view name) {
  return fail_unknown(work, line, "filter", name, kFilters, std::size(kFilters));
}

const Native& filter_at(uint8_t index) { return kFilters[index]; }

}  // namespace ferry::jinja
